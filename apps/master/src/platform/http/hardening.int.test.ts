import { connect } from 'node:net'
import { ErrorView, SessionView } from '@session-service/contract'
import { startStack, until, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
let sessionId: string
/** All error answers, which the last test searches. */
const errorAnswers: string[] = []

beforeAll(async () => {
  const masterEnv = { SERVICE_CORS_ORIGINS: '["https://app.example"]', SERVICE_LOG_LEVEL: 'debug' }
  stack = await startStack({ nodes: 0, masterEnv })
  sessionId = (await stack.api.createSession()).id
})
afterAll(() => stack.stop())

async function call(method: string, path: string, headers: Record<string, string> = {}, body?: string | Buffer) {
  const answer = await fetch(`${stack.masterUrl}/service/api${path}`, {
    method,
    headers: { authorization: stack.authorization, ...headers },
    ...(body !== undefined && { body: new Blob([body]).stream(), duplex: 'half' as const }),
  })
  const received = await answer.text()
  if (answer.status >= 400) errorAnswers.push(received)
  return { status: answer.status, body: received, headers: answer.headers }
}

/** Sends the lines unchanged on a connection of its own, and gives everything that is received until it ends. */
async function raw(lines: readonly string[], body: string | Buffer = ''): Promise<string> {
  const { hostname, port } = new URL(stack.masterUrl)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => {})
  socket.write(`${[...lines, 'host: x', 'connection: close'].join('\r\n')}\r\n\r\n`)
  socket.write(body)
  let answer = ''
  socket.setEncoding('utf8').on('data', (data: string) => (answer += data))
  // A client that is rejected while it writes gets the answer, and then a reset.
  await new Promise((resolve) => socket.once('close', resolve))
  errorAnswers.push(answer)
  return answer
}
const JSON_TYPE = { 'content-type': 'application/json' }
const statusOf = (answer: string): number => Number(answer.split(' ', 2)[1])

describe('bodies', () => {
  it.each<[string, Record<string, string>, string | Buffer, number]>([
    ['broken JSON', JSON_TYPE, '{"mediaMode":', 400],
    ['an array', JSON_TYPE, '[]', 400],
    ['a string', JSON_TYPE, '"x"', 400],
    ['a number', JSON_TYPE, '7', 400],
    ['null', JSON_TYPE, 'null', 400],
    ['nesting to a depth of 33', JSON_TYPE, `{"a":${'['.repeat(32)}${']'.repeat(32)}}`, 400],
    ['nesting to a depth of 500000', JSON_TYPE, '['.repeat(500_000), 400],
    ['text that is not UTF-8', JSON_TYPE, Buffer.from([0x7b, 0x22, 0xff, 0x22, 0x3a, 0x31, 0x7d]), 400],
    ['a lone surrogate in an id', JSON_TYPE, String.raw`{"customSessionId":"\ud800"}`, 400],
    ['a form', { 'content-type': 'application/x-www-form-urlencoded' }, 'mediaMode=ROUTED', 415],
    ['text', { 'content-type': 'text/plain' }, '{}', 415],
    ['a compressed body', { ...JSON_TYPE, 'content-encoding': 'gzip' }, '{}', 415],
    ['no type', {}, '{}', 415],
    ['an invalid type', { 'content-type': 'json' }, '{}', 415],
  ])('%s is rejected', async (_, headers, body, status) => {
    const answer = await call('POST', '/sessions', headers, body)
    expect(answer.status).toBe(status)
    expect(ErrorView.parse(JSON.parse(answer.body))).toMatchObject({ status, path: '/service/api/sessions' })
  })

  it.each<[string, Record<string, string>, string]>([
    ['the type of a body', { 'content-type': 'text/plain' }, 'Content-Type: a body must be sent as application/json'],
    ['a type that is none', { 'content-type': 'json' }, 'Content-Type: is not a media type'],
    ['a compression', { ...JSON_TYPE, 'content-encoding': 'gzip' }, 'Content-Encoding: a body may not be compressed'],
  ])('the answer names the header that is wrong: %s', async (_, headers, message) => {
    const { body } = await call('POST', '/sessions', headers, '{}')
    expect(ErrorView.parse(JSON.parse(body)).message).toBe(message)
  })

  it('a Content-Length above one megabyte is rejected before the body is sent', async () => {
    const head = ['POST /service/api/sessions HTTP/1.1', `authorization: ${stack.authorization}`]
    const answer = await raw([...head, 'content-type: application/json', 'content-length: 10000000'])
    expect(statusOf(answer)).toBe(413)
    expect(answer).toContain('"message":"the body is too large"')
  })

  it('a chunked body above one megabyte is rejected at the limit', async () => {
    const head = ['POST /service/api/sessions HTTP/1.1', `authorization: ${stack.authorization}`]
    const chunk = `${(1_100_000).toString(16)}\r\n${'x'.repeat(1_100_000)}\r\n`
    expect(statusOf(await raw([...head, 'content-type: application/json', 'transfer-encoding: chunked'], chunk))).toBe(
      413,
    )
  })

  it.each([
    ['gzip, chunked', 501],
    ['deflate, chunked', 501],
    ['Chunked', 200],
    ['gzip', 400],
  ])('Transfer-Encoding: %s is answered %d', async (coding, status) => {
    const head = ['POST /service/api/sessions HTTP/1.1', 'content-type: application/json']
    const lines = [...head, `transfer-encoding: ${coding}`]
    expect(statusOf(await raw([...lines, `authorization: ${stack.authorization}`], '2\r\n{}\r\n0\r\n\r\n'))).toBe(
      status,
    )
    if (status === 501) expect(statusOf(await raw(lines, '2\r\n{}\r\n0\r\n\r\n'))).toBe(401)
  })

  it('bytes after the Content-Length are not read as a request', async () => {
    const head = ['POST /service/api/sessions HTTP/1.1', `authorization: ${stack.authorization}`]
    const answer = await raw([...head, 'content-type: application/json', 'content-length: 2'], `{}${'x'.repeat(100)}`)
    expect(answer.match(/^HTTP\/1.1 /gm)?.length).toBe(1)
  })

  it.each([
    '{"fromTheFuture":{"deep":[1]},"toString":1}',
    '{"__proto__":{"mediaMode":"RELAYED"}}',
    String.raw`{"\u005f_proto__":{"mediaMode":"RELAYED"}}`,
    '{"constructor":{"prototype":{"mediaMode":"RELAYED"}}}',
    '{"defaultRecordingProperties":{"__proto__":{"frameRate":1},"constructor":{"prototype":{"frameRate":1}}}}',
  ])('unknown members are ignored, and change no prototype: %s', async (body) => {
    const answer = await call('POST', '/sessions', JSON_TYPE, body)
    expect(answer.status).toBe(200)
    const { mediaMode, defaultRecordingProperties } = SessionView.parse(JSON.parse(answer.body))
    expect([mediaMode, defaultRecordingProperties.frameRate]).toEqual(['ROUTED', 25])
    expect(await stack.api.createSession()).toMatchObject({ mediaMode, defaultRecordingProperties })
  })

  it.each([['application/x-www-form-urlencoded'], ['application/json'], ['text/plain']])(
    'a request without body may have the type %s',
    async (type) => {
      const headers = { 'content-type': type }
      expect((await call('GET', `/sessions/${sessionId}`, headers)).status).toBe(200)
      const created = SessionView.parse(JSON.parse((await call('POST', '/sessions', headers)).body))
      expect((await call('DELETE', `/sessions/${created.id}`, headers)).status).toBe(204)
    },
  )

  it.each([
    ['script', '</script><script>alert(1)</script>'],
    ['control characters', 'a\u0001b\u001f\r\n\t\u2028c\u202ed'],
    ['every plane', 'äöü 漢字 🎥 𝒳'],
    ['64 kB', 'ä'.repeat(65_536)],
  ])('metadata with %s is returned unchanged', async (_, data) => {
    const { serverData } = await stack.api.createConnection(sessionId, { data })
    expect(serverData).toBe(data)
  })

  it('metadata beyond 64 kB is rejected by name', async () => {
    const answer = await call(
      'POST',
      `/sessions/${sessionId}/connection`,
      JSON_TYPE,
      JSON.stringify({ data: 'x'.repeat(65_537) }),
    )
    expect(answer.status).toBe(400)
    expect(answer.body).toContain('data:')
  })
})

describe('paths', () => {
  const odd = [
    '/%zz',
    '/service/api/%zz',
    '/service/api/sessions%2f',
    '/service//api/sessions',
    '/service/api/sessions;x',
    '/service/client/%2e%2e/api/sessions',
    '/service/client/..%2fapi',
    '/service/client/%00',
    '/service/client/0.1.0-000000000000/..%2fapi',
    '/service/cdr/%00',
    `/service/api/sessions/${'x'.repeat(5000)}`,
    '/SERVICE/API/SESSIONS',
    '/service/api/sessions?authorization=x',
    '/metrics',
    '/healthz',
    '/readyz',
    '*',
    'http://x/service/client/session-client',
  ]
  it.each(odd)('%s is answered 401 without credentials', async (path) => {
    expect(statusOf(await raw([`GET ${path} HTTP/1.1`]))).toBe(401)
  })
  it.each(odd)('%s with credentials is a 4xx with an error body', async (path) => {
    const answer = await raw([`GET ${path} HTTP/1.1`, `authorization: ${stack.authorization}`])
    if (statusOf(answer) === 200) return expect(path).toMatch(/sessions\?/)
    expect([400, 403, 404, 414]).toContain(statusOf(answer))
    expect(ErrorView.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? '')).status).toBe(statusOf(answer))
  })
  it.each([
    [`/service/api/sessions/${'x'.repeat(257)}`, 414, 'an id in the path is too long'],
    ['/service/api/sessions/%ff', 400, 'the path is not UTF-8 with percent-encoding'],
  ])('the answer says what is wrong with a path, without repeating it: %s', async (path, status, message) => {
    const answer = await raw([`GET ${path} HTTP/1.1`, `authorization: ${stack.authorization}`])
    expect(ErrorView.parse(JSON.parse(answer.split('\r\n\r\n')[1] ?? ''))).toMatchObject({ status, message })
  })
  it.each(['PROPFIND', 'TRACE', 'QUERY', 'PURGE'])('the method %s is answered 405', async (method) => {
    expect(statusOf(await raw([`${method} /service/api/sessions HTTP/1.1`]))).toBe(401)
    const answer = await raw([`${method} /service/api/sessions HTTP/1.1`, `authorization: ${stack.authorization}`])
    expect(statusOf(answer)).toBe(405)
    expect(answer).toMatch(/^allow: .*GET/im)
  })

  const nasty = [
    "'; DROP TABLE session; --",
    "' OR '1'='1",
    '"x"',
    '%',
    '_',
    String.raw`\x00`,
    '\0',
    'a\0b',
    '../../etc/passwd',
    '$$',
    '\u202ex',
  ]
  it.each(
    nasty.flatMap((id) =>
      ['sessions/?', 'sessions/?/connection', `sessions/SESSION/connection/?`, 'sessions/SESSION/stream/?'].map(
        (path) => [path, id] as const,
      ),
    ),
  )('%s is answered 404 for the id %j', async (path, id) => {
    const method = path.includes('stream') ? 'DELETE' : 'GET'
    const answer = await call(method, `/${path.replace('SESSION', sessionId).replace('?', encodeURIComponent(id))}`)
    expect(answer.status).toBe(404)
  })
})

it('requests for recordings are answered 501 while the module is off, also those with invalid ids', async () => {
  for (const id of ['none', '%00']) {
    expect((await call('GET', `/recordings/${id}`)).status).toBe(501)
    expect((await call('DELETE', `/recordings/${id}`)).status).toBe(501)
    expect((await call('POST', `/recordings/stop/${id}`)).status).toBe(501)
  }
})

describe('methods and origins', () => {
  it('HEAD answers as GET does, without a body', async () => {
    const answer = await call('HEAD', `/sessions/${sessionId}`)
    expect([answer.status, answer.body]).toEqual([200, ''])
    expect((await call('HEAD', '/sessions/none')).status).toBe(404)
    expect((await fetch(`${stack.masterUrl}/service/api/sessions`, { method: 'HEAD' })).status).toBe(401)
  })

  it('OPTIONS answers without credentials and without content', async () => {
    const answer = await fetch(`${stack.masterUrl}/service/api/sessions`, { method: 'OPTIONS' })
    expect([answer.status, await answer.text()]).toEqual([204, ''])
  })

  it.each([
    ['https://app.example', 'https://app.example'],
    ['https://evil.example', null],
  ])('CORS permits pages of %s: %s', async (origin, allowed) => {
    const headers = { origin, 'access-control-request-method': 'POST' }
    const preflight = await fetch(`${stack.masterUrl}/service/api/sessions`, { method: 'OPTIONS', headers })
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, allowed])
    const refused = await fetch(`${stack.masterUrl}/service/api/sessions`, { headers: { origin } })
    expect([refused.status, refused.headers.get('access-control-allow-origin')]).toEqual([401, allowed])
  })
})

describe('pages of other origins', () => {
  const EVIL = { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }
  const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
  const count = async () => (await stack.api.listSessions()).numberOfElements

  it('cannot create sessions or restart the service with a form and stored credentials', async () => {
    const before = await count()
    for (const path of ['/sessions', '/restart', '/webhook/dead-letters/replay', '/nowhere']) {
      const { status, body, headers } = await call('POST', path, { ...EVIL, ...FORM })
      expect([path, status]).toEqual([path, 403])
      expect(ErrorView.parse(JSON.parse(body)).message).toMatch(/^Origin: /)
      expect(headers.get('access-control-allow-origin')).toBeNull()
    }
    expect((await call('DELETE', `/sessions/${sessionId}`, { origin: 'null' })).status).toBe(403)
    expect((await call('POST', '/sessions', { 'sec-fetch-site': 'same-site' })).status).toBe(403)
    expect(await count()).toBe(before)
  })

  it('get 401 without credentials', async () => {
    expect((await call('POST', '/sessions', { ...EVIL, authorization: '' })).status).toBe(401)
  })

  it.each<[string, Record<string, string>]>([
    ['an origin that is allowed by name', { origin: 'https://app.example', 'sec-fetch-site': 'cross-site' }],
    ['the page of this server behind a proxy', { origin: 'https://outer.example', 'sec-fetch-site': 'same-origin' }],
    ['a program', {}],
  ])('are distinguished from %s, which may create sessions', async (_, headers) => {
    const { status, body } = await call('POST', '/sessions', { ...JSON_TYPE, ...headers }, '{}')
    expect(status).toBe(200)
    await stack.api.deleteSession(SessionView.parse(JSON.parse(body)).id)
  })

  it('may send GET requests, whose answers CORS hides', async () => {
    expect((await call('GET', '/sessions', EVIL)).status).toBe(200)
  })
})

describe('headers of answers', () => {
  it.each<[string, string, Record<string, string>, number]>([
    ['GET', '/sessions', {}, 200],
    ['DELETE', '/sessions/none', {}, 404],
    ['PUT', '/sessions', {}, 405],
    ['POST', '/sessions', { 'content-type': 'text/plain' }, 200],
    ['GET', '/sessions', { authorization: 'none' }, 401],
    ['GET', '/%zz', {}, 400],
  ])('%s %s with %j forbid content sniffing and caching', async (method, path, headers, status) => {
    const answer = await call(method, path, headers)
    expect([answer.status, answer.headers.get('x-content-type-options'), answer.headers.get('cache-control')]).toEqual([
      status,
      'nosniff',
      'no-store',
    ])
  })

  it('forbid both in answers to invalid HTTP', async () => {
    expect(await raw(['nonsense'])).toMatch(/^x-content-type-options: nosniff\r\ncache-control: no-store\r$/m)
  })

  it('have no traceparent while tracing is off', async () => {
    const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01'
    const { status, headers } = await call('GET', '/sessions', { traceparent })
    expect([status, headers.get('traceparent')]).toEqual([200, null])
  })

  it('let browsers cache the client library', async () => {
    const answer = await fetch(`${stack.masterUrl}/service/client/session-client.js`)
    expect([answer.status, answer.headers.get('x-content-type-options')]).toEqual([200, 'nosniff'])
    expect(answer.headers.get('cache-control')).not.toContain('no-store')
  })

  it('let pages of named origins send credentials and read the headers for clients', async () => {
    const requested = { origin: 'https://app.example', 'access-control-request-method': 'POST' }
    const preflight = await fetch(`${stack.masterUrl}/service/api/sessions`, { method: 'OPTIONS', headers: requested })
    expect(preflight.headers.get('access-control-allow-headers')?.split(/, */)).toEqual(['*', 'Authorization'])
    const { headers } = await call('GET', '/sessions', { origin: 'https://app.example' })
    expect(headers.get('access-control-expose-headers')).toBe('X-Request-Id, Retry-After, Idempotent-Replayed')
  })
})

it('logs one warning when X-Forwarded-For arrives from an untrusted address', async () => {
  const send = (requestId: string) =>
    call('GET', '/config', { 'x-forwarded-for': '192.0.2.7', 'x-request-id': requestId })
  for (const requestId of ['forwarded-1', 'forwarded-2', 'forwarded-3'])
    expect((await send(requestId)).status).toBe(200)
  await until('the last request is logged', () => stack.journal.find('"requestId":"forwarded-3"').length > 0)
  expect(stack.journal.find('SERVICE_TRUSTED_PROXIES')).toHaveLength(1)
})

describe('request ids', () => {
  it.each([
    ['kept', 'My-id_1.2', true],
    ['replaced when it has other characters', 'a b"c', false],
    ['replaced when it is too long', 'x'.repeat(129), false],
  ])('a given id is %s', async (_, given, kept) => {
    const id = (await call('GET', '/sessions/none', { 'x-request-id': given })).headers.get('x-request-id')
    expect(id === given).toBe(kept)
    await until('the request is logged', () => stack.journal.find(`"requestId":"${id}"`).length > 0)
  })
})

it('no error answer contains paths, SQL, stacks, hosts or secrets', () => {
  expect(errorAnswers.length).toBeGreaterThan(80)
  for (const answer of errorAnswers) {
    expect(answer).not.toMatch(
      /node_modules|\.[jt]s\b|\bat \w+.* \(|SELECT|INSERT|relation "|syntax error|postgres|ECONN|127\.0\.0\.1:/,
    )
    expect(answer).not.toContain(stack.secret)
    expect(answer).not.toContain(stack.authorization)
  }
})
