import { startStack, type Stack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

let stack: Stack
let versioned: string

const get = (path: string, headers: Record<string, string> = {}, options: RequestInit = {}) =>
  fetch(`${stack.masterUrl}${path}`, { headers, ...options })
const header = (answer: Response, ...names: string[]) => names.map((name) => answer.headers.get(name))

const LIBRARY = '/service/client/session-client.js'
const TYPES = '/service/client/session-client.d.ts'

beforeAll(async () => {
  stack = await startStack({ nodes: 0 })
  versioned = (await get(LIBRARY)).headers.get('content-location') ?? ''
})
afterAll(() => stack.stop())

describe('the client library', () => {
  it.each([
    ['br, gzip', 'br', 75_000],
    ['gzip', 'gzip', 85_000],
    ['gzip;q=0.5, br;q=0', 'gzip', 85_000],
    ['identity', null, 400_000],
  ])('is sent to a client that accepts "%s" as %s in at most %i bytes', async (accepted, encoding, most) => {
    const [plain, answer] = await Promise.all([
      get(LIBRARY, { 'accept-encoding': 'identity' }).then((each) => each.text()),
      get(LIBRARY, { 'accept-encoding': accepted }),
    ])
    expect(header(answer, 'content-encoding', 'content-type')).toEqual([
      encoding,
      'application/javascript; charset=utf-8',
    ])
    expect(answer.headers.get('vary')).toMatch(/accept-encoding/i)
    expect(Number(answer.headers.get('content-length'))).toBeLessThan(most)
    expect(await answer.text()).toBe(plain)
  })

  it('is revalidated under its plain URL, each encoding with its own ETag', async () => {
    const tags = new Set<string>()
    for (const encoding of ['br', 'gzip', 'identity']) {
      const answer = await get(LIBRARY, { 'accept-encoding': encoding })
      const tag = answer.headers.get('etag') ?? ''
      tags.add(tag)
      expect(header(answer, 'cache-control')).toEqual(['no-cache'])
      // fetch itself adds `no-cache` to `if-none-match`, which requests the whole answer.
      const again = await get(LIBRARY, {
        'accept-encoding': encoding,
        'if-none-match': tag,
        'cache-control': 'max-age=0',
      })
      expect([again.status, await again.text()]).toEqual([304, ''])
    }
    expect(tags.size).toBe(3)
  })

  it('is cached by browsers under the URL of its version', async () => {
    expect(versioned).toMatch(/^\/service\/client\/\d+\.\d+\.\d+-[0-9a-f]{12}\/session-client\.js$/)
    const answer = await get(versioned, { 'accept-encoding': 'gzip' })
    expect(header(answer, 'cache-control', 'content-encoding', 'access-control-allow-origin')).toEqual([
      'public, max-age=31536000, immutable',
      'gzip',
      '*',
    ])
    expect(await answer.text()).toBe(await (await get(LIBRARY)).text())
  })

  it('is redirected from the URL of another version, without caching', async () => {
    const other = versioned.replace(/-[0-9a-f]{12}/, '-000000000000')
    const answer = await get(other, {}, { redirect: 'manual' })
    expect([answer.status, ...header(answer, 'location', 'cache-control', 'access-control-allow-origin')]).toEqual([
      302,
      LIBRARY,
      'no-cache',
      '*',
    ])
    expect((await get(other.replace('session-client.js', 'other.js'))).status).toBe(404)
  })

  it.each(['br', 'gzip', 'identity'])(
    'refers to its types, which are served as TypeScript with %s',
    async (encoding) => {
      expect(header(await get(LIBRARY, { 'accept-encoding': encoding }), 'x-typescript-types')).toEqual([
        './session-client.d.ts',
      ])
      for (const path of [TYPES, versioned.replace('.js', '.d.ts')]) {
        const answer = await get(path, { 'accept-encoding': encoding })
        expect([answer.status, ...header(answer, 'content-type')]).toEqual([
          200,
          'application/typescript; charset=utf-8',
        ])
        expect(await answer.text()).toContain('export { ServiceError, MediaError, Publisher, createPublisher, Session,')
      }
    },
  )

  it.each(['session-client.js.br', 'session-client.js.gz', 'none.js', 'package.json'])(
    'has no file "%s"',
    async (file) => {
      const { status, headers } = await get(`/service/client/${file}`)
      expect([status, headers.get('cache-control')]).toEqual([404, 'no-store'])
    },
  )
})
