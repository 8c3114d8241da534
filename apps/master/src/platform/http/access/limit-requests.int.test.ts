import type { AddressInfo } from 'node:net'
import { ErrorView } from '@session-service/contract'
import { HttpErrorFilter } from '@session-service/server-kit'
import { basicAuth } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { FastifyAdapter } from '@nestjs/platform-fastify'
import { BasicCredentials } from '../../authentication/basic-credentials.js'
import { BasicAuthGuard } from '../../authentication/basic-auth-guard.js'
import { RequestLimiter } from '../../limits/request-limiter.js'
import { createHttpAdapter } from '../http-adapter.js'

let adapter: FastifyAdapter
let port: number
let now = 0

beforeAll(async () => {
  const names = ['one', 'two']
  adapter = createHttpAdapter({
    guard: new BasicAuthGuard(
      new BasicCredentials(names.map((name) => ({ name, secret: name, role: 'all' as const }))),
    ),
    errors: new HttpErrorFilter(),
    trustedProxies: [],
    open: [/^\/open$/],
    rate: { limiter: new RequestLimiter({ burst: 2, perSecond: 0.1 }, () => now), exempt: [/^\/exempt$/] },
  })
  for (const path of ['/service/api/sessions', '/service/api/health', '/exempt', '/open'])
    adapter.getInstance().get(path, () => ({}))
  await adapter.getInstance().listen({ port: 0, host: '127.0.0.1' })
  port = (adapter.getHttpServer().address() as AddressInfo).port
})
afterAll(() => adapter.close())
beforeEach(() => {
  now += 1_000_000
})

const get = (path: string, secret = 'one'): Promise<Response> =>
  fetch(`http://127.0.0.1:${port}${path}`, {
    headers: { authorization: basicAuth(secret) },
  })
const statuses = async (count: number, ...request: Parameters<typeof get>): Promise<number[]> => {
  const all: number[] = []
  for (let nth = 0; nth < count; nth++) all.push((await get(...request)).status)
  return all
}

it('answers 429 with Retry-After and the property beyond the rate, and serves again after that time', async () => {
  expect(await statuses(2, '/service/api/sessions')).toEqual([200, 200])
  const refused = await get('/service/api/sessions')
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
  expect(ErrorView.parse(await refused.json())).toMatchObject({
    status: 429,
    error: 'Too Many Requests',
    path: '/service/api/sessions',
    message: expect.stringContaining('SERVICE_REST_RATE_LIMIT'),
  })
  now += 10_000
  expect(await statuses(2, '/service/api/sessions')).toEqual([200, 429])
})

it('limits each credential separately, and requests without valid ones not at all', async () => {
  expect(await statuses(3, '/service/api/sessions')).toEqual([200, 200, 429])
  expect(await statuses(3, '/service/api/sessions', 'two')).toEqual([200, 200, 429])
  expect(await statuses(3, '/service/api/sessions', 'wrong')).toEqual([401, 401, 401])
})

it('counts requests for paths that do not exist', async () => {
  expect(await statuses(3, '/nowhere')).toEqual([404, 404, 429])
})

it.each([['/service/api/health'], ['/service/api/health?x=1'], ['/exempt'], ['/open']])(
  'neither counts nor limits %s',
  async (path) => {
    expect(await statuses(4, path)).toEqual([200, 200, 200, 200])
    expect(await statuses(2, '/service/api/sessions')).toEqual([200, 200])
    expect(await statuses(2, path)).toEqual([200, 200])
  },
)
