import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { ErrorView } from '@session-service/contract'
import { DEPRECATED_ROUTES, type Route, ROUTES } from '@session-service/contract/rest-api'
import { startStack, until, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { z } from 'zod'

type Json = Record<string, unknown>

const ALL = Object.entries<Route>({ ...ROUTES, ...DEPRECATED_ROUTES })
interface Bodied {
  name: string
  route: Route
  shape: Record<string, z.ZodType>
}
const WITH_BODY = ALL.flatMap(([name, route]): Bodied[] =>
  route.body instanceof z.ZodObject ? [{ name, route, shape: route.body.shape }] : [],
)
/** Paths of the documentation, which the OpenAPI document does not contain. */
const DOCS = ['', '/page.js', '/openapi.json', '/swagger-ui.css', '/swagger-ui-bundle.js'].map(
  (file) => `/service/api/docs${file}`,
)
const UNDOCUMENTED = DOCS.map((path) => `GET ${path}`)
/** Documented operations that no controller serves. */
const FILES = 1

let stack: Stack
let sessionId: string
let connectionId: string

beforeAll(async () => {
  const masterEnv = {
    SERVICE_LOG_LEVEL: 'debug',
    SERVICE_RECORDING: 'true',
    SERVICE_PRO_SPEECH_TO_TEXT: 'vosk',
    SUPPORT_DEPRECATED_API: 'true',
    SERVICE_HISTORY: 'true',
  }
  stack = await startStack({ nodes: 0, masterEnv })
  sessionId = (await stack.api.createSession()).id
  connectionId = (await stack.api.createConnection(sessionId)).id
})
afterAll(() => stack.stop())

const pathOf = ({ path }: Route): string =>
  path
    .replace('{sessionId}', sessionId)
    .replace('{connectionId}', connectionId)
    .replace(/\{\w+\}/g, 'none')

async function send(method: string, path: string, body?: unknown, authorized = true, more: object = {}) {
  const answer = await fetch(stack.masterUrl + path, {
    method,
    headers: {
      ...(authorized && { authorization: stack.authorization }),
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...more,
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  })
  const received = await answer.text()
  return { status: answer.status, body: received === '' ? undefined : (JSON.parse(received) as unknown) }
}

const CANDIDATES: readonly unknown[] = ['', 7, true, [], {}, [7], 'not-one-of-these words']
const VALID: readonly unknown[] = [
  'a',
  1,
  200_000_000,
  true,
  [],
  {},
  { id: 'none' },
  '640x480',
  'rtsp://camera.example/1',
  'running',
]
/** A value that the field does not accept. */
const wrongValue = (field: z.ZodType): unknown => CANDIDATES.find((value) => !field.safeParse(value).success)
const isMandatory = (field: z.ZodType): boolean => !field.safeParse(undefined).success

/** A value of each mandatory field, so that only the one under test is wrong. */
const minimal = (shape: Record<string, z.ZodType>): Json =>
  Object.fromEntries(
    Object.entries(shape).flatMap(([name, field]) => {
      if (name === 'session') return [[name, sessionId]]
      return isMandatory(field) ? [[name, VALID.find((value) => field.safeParse(value).success)]] : []
    }),
  )

/** Expects an answer to a valid body: a status of the route's table, and no error that names the field. */
function expectNoFault(route: Route, status: number, body: unknown, field: string): void {
  expect(Object.keys(route.answers).map(Number)).toContain(status)
  if (status >= 400) expect(ErrorView.parse(body).message).not.toMatch(new RegExp(`(^|; )${field}[:.]`))
}

/**
 * Whether another check precedes that of the field: a recording of an empty session is rejected before the other fields
 * are checked.
 */
const isCheckedLater = (name: string, field: string): boolean => /startRecording$/i.test(name) && field !== 'session'

const FIELDS = WITH_BODY.flatMap(({ name, route, shape }) =>
  Object.entries(shape).map(([field, schema]) => ({ title: `${name} ${field}`, name, route, shape, field, schema })),
)

describe(`${FIELDS.length} fields of ${WITH_BODY.length} bodies`, () => {
  it.each(FIELDS)(
    '$title: a value of another type is rejected by name',
    async ({ name, route, shape, field, schema }) => {
      const answer = await send(route.method, pathOf(route), { ...minimal(shape), [field]: wrongValue(schema) })
      if (isCheckedLater(name, field)) return expect(answer.status).toBe(406)
      expect(answer.status).toBe(400)
      return expect(ErrorView.parse(answer.body).message).toMatch(new RegExp(`(^|; )${field}[:.]`))
    },
  )

  it.each(FIELDS)('$title: null means the same as absent', async ({ route, shape, field, schema }) => {
    const { [field]: _, ...rest } = minimal(shape)
    const absent = await send(route.method, pathOf(route), rest)
    const nothing = await send(route.method, pathOf(route), { ...rest, [field]: null })
    expect(nothing.status).toBe(absent.status)
    if (isMandatory(schema))
      return expect(ErrorView.parse(nothing.body).message).toMatch(new RegExp(`(^|; )${field}[:.]`))
    return expectNoFault(route, nothing.status, nothing.body, field)
  })
})

describe(`${WITH_BODY.length} bodies`, () => {
  it.each(WITH_BODY)('$name: unknown members are ignored', async ({ route, shape }) => {
    const body = minimal(shape)
    const plain = await send(route.method, pathOf(route), body)
    const more = await send(route.method, pathOf(route), { ...body, fromTheFuture: { deep: [1] }, toString: 1 })
    expect(more.status).toBe(plain.status)
    if (more.status >= 400) expect(ErrorView.parse(more.body).message).toBe(ErrorView.parse(plain.body).message)
  })

  it.each(WITH_BODY)('$name: a body that is no object is rejected', async ({ route }) => {
    for (const body of [[], 'x', 7, null]) expect((await send(route.method, pathOf(route), body)).status).toBe(400)
  })
})

const PLACES = ALL.flatMap(([name, route]) =>
  [...route.path.matchAll(/\{(\w+)\}/g)].map(([, parameter = '']) => ({ name, route, parameter })),
)

describe(`${PLACES.length} parameters of paths`, () => {
  /** Sends the path unchanged; `fetch` would resolve dots. */
  const sendRaw = async (method: string, path: string): Promise<{ status: number | undefined; body: string }> => {
    const { hostname, port } = new URL(stack.masterUrl)
    const authorization = stack.authorization
    const sent = request({ hostname, port, method, path, headers: { authorization } }).end()
    const [answer] = (await once(sent, 'response')) as [IncomingMessage]
    return { status: answer.statusCode, body: await text(answer) }
  }
  const odd = [
    '%00',
    'a%00b',
    '%20',
    '%F0%9F%8E%A5',
    '..%2f..',
    '..',
    '%27%3B--',
    'a%0Ab',
    'x'.repeat(201),
    'x'.repeat(256),
  ]

  it.each(PLACES)('$name $parameter: an invalid id is answered like an unknown one', async (place) => {
    const { route, parameter } = place
    const at = (id: string): string => pathOf({ ...route, path: route.path.replace(`{${parameter}}`, id) })
    const missing = await sendRaw(route.method, at('none'))
    expect([400, 404]).toContain(missing.status)
    for (const id of odd) {
      const answer = await sendRaw(route.method, at(id))
      expect([id, answer.status]).toEqual([id, missing.status])
      expect(ErrorView.parse(JSON.parse(answer.body)).message).not.toMatch(/\0/)
    }
  })

  it.each(['POST', 'PATCH'])('are checked before the body of a %s', async (method) => {
    const path = `/service/api/sessions/%00/connection${method === 'PATCH' ? '/none' : ''}`
    expect((await send(method, path, { role: 7, type: 7 })).status).toBe(404)
  })

  it('longer than the limit of the router are rejected', async () => {
    expect((await sendRaw('GET', `/service/api/sessions/${'x'.repeat(257)}`)).status).toBe(414)
  })

  it('that are not valid UTF-8 are rejected', async () => {
    expect((await sendRaw('GET', '/service/api/sessions/%ff')).status).toBe(400)
  })
})

const PARAMETERS = ALL.flatMap(([name, route]) =>
  Object.keys(route.query?.shape ?? {}).map((parameter) => ({ name, route, parameter })),
)

describe(`${PARAMETERS.length} parameters of queries`, () => {
  it.each(PARAMETERS)('$name $parameter: a repeated parameter is rejected by name', async ({ route, parameter }) => {
    const answer = await send(route.method, `${pathOf(route)}?${parameter}=true&${parameter}=false`)
    expect([answer.status, ErrorView.parse(answer.body).message]).toEqual([
      400,
      `${parameter}: must be given only once`,
    ])
  })

  it.each(PARAMETERS)(
    '$name $parameter: NUL causes no status outside of the route’s table',
    async ({ route, parameter }) => {
      const { status } = await send(route.method, `${pathOf(route)}?${parameter}=%00&unknown=%00&unknown=1`)
      expect(Object.keys(route.answers).map(Number)).toContain(status)
    },
  )
})

describe(`${ALL.length} routes`, () => {
  it.each(ALL)('%s answers 401 without credentials', async (_, route) => {
    const answer = await send(route.method, pathOf(route), undefined, false)
    expect(answer.status).toBe(401)
    expect(ErrorView.parse(answer.body).path).toBe(pathOf(route))
  })

  it.each(ALL.filter(([, { method }]) => method !== 'GET'))(
    '%s answers 403 to a form of a page of another origin',
    async (_, route) => {
      for (const foreign of [{ origin: 'https://evil.example' }, { 'sec-fetch-site': 'cross-site' }]) {
        const answer = await send(route.method, pathOf(route), undefined, true, foreign)
        expect(answer.status).toBe(403)
        expect(ErrorView.parse(answer.body).message).toMatch(/^Origin: /)
      }
    },
  )

  it.each(ALL)('%s answers 405 to other methods', async (_, { path }) => {
    const methods = ALL.filter(([, route]) => route.path.replace(/\{\w+\}/g, '{}') === path.replace(/\{\w+\}/g, '{}'))
    const taken = new Set(methods.map(([, route]) => route.method as string))
    for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].filter((one) => !taken.has(one))) {
      const at = pathOf({ path } as Route)
      // A path that matches another pattern as well, for example `recordings/start`, has that one's methods too.
      const also = ALL.some(([, route]) => route.method === method && patternOf(route.path).test(at))
      if (!also) expect((await send(method, at)).status).toBe(405)
    }
  })

  it.each(ALL.filter(([, { path }]) => path.includes('{sessionId}')))(
    '%s answers 404 or 400 for an unknown session',
    async (name, route) => {
      const path = route.path.replace('{sessionId}', 'nowhere').replace(/\{\w+\}/g, 'none')
      const { status } = await send(route.method, path, route.body ? {} : undefined)
      expect(status).toBe(/(getConnection|deleteConnection|deleteStream)$/i.test(name) ? 400 : 404)
    },
  )

  it('are exactly the routes of the master', async () => {
    await until('the master has logged its routes', () => stack.journal.find('Mapped {').length > 0)
    const mapped = stack.journal
      .find('Mapped {')
      .flatMap((line) => [.../Mapped \{([^,]+), (\w+)\}/g[Symbol.matchAll](line)])
      .map(([, path = '', method = '']) => `${method} ${path.replace(/:(\w+)/g, '{}')}`)
    const documented = ALL.map(([, { method, path }]) => `${method} ${path.replace(/\{\w+\}/g, '{}')}`)
    expect(mapped.toSorted()).toEqual([...documented, ...UNDOCUMENTED].toSorted())
  })

  it('are in the OpenAPI document that is served, with a page to try them', async () => {
    const { body } = await send('GET', '/service/api/docs/openapi.json')
    const { paths } = z.object({ paths: z.record(z.string(), z.record(z.string(), z.unknown())) }).parse(body)
    expect(Object.values(paths).flatMap((methods) => Object.keys(methods))).toHaveLength(ALL.length + FILES)
    for (const path of DOCS) expect((await fetch(stack.masterUrl + path)).status).toBe(401)
    const page = await stack.rest('GET', '/docs')
    expect(page).toMatchObject({ status: 200, body: expect.stringContaining('/service/api/docs/page.js') as unknown })
    expect(page.headers.get('content-security-policy')).toContain("script-src 'self'")
    for (const file of ['swagger-ui.css', 'swagger-ui-bundle.js'])
      expect(await stack.rest('GET', `/docs/${file}`)).toMatchObject({
        status: 200,
        body: expect.stringContaining('swagger-ui') as unknown,
      })
  })
})

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replace(/\{\w+\}/g, '[^/]+')}$`)
}
