import { basicAuth, ServiceApi, type Stack, startStack } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { SignInCookies } from '../../platform/authentication/sign-in-cookies.js'
import { DashboardClient, signIn } from './fixtures/dashboard-client.js'

const READER = 'a-secret-of-the-reader'
const LIFETIME_MS = 12 * 3_600_000
const TENANT = 'a-secret-of-the-tenant'

let stack: Stack
let main: DashboardClient
let reader: DashboardClient

beforeAll(async () => {
  const secrets = [
    { name: 'reports', secret: READER, role: 'read-only' },
    { name: 'tenant', secret: TENANT, role: 'session-prefix', prefix: 'a_' },
  ]
  stack = await startStack({
    nodes: 0,
    masters: 2,
    masterEnv: {
      SERVICE_PRO_DASHBOARD: 'true',
      SERVICE_PRO_DASHBOARD_HOST: 'https://grafana.example/d/1',
      SERVICE_API_SECRETS: JSON.stringify(secrets),
    },
  })
  main = await DashboardClient.signIn(stack.masterUrl, stack.secret)
  reader = await DashboardClient.signIn(stack.masterUrl, READER)
})
afterAll(() => stack.stop())

const get = (path: string, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${stack.masterUrl}/service${path}`, { headers, redirect: 'manual' })
/** A cookie that was made at another time, or with another secret. */
const cookieMadeAt = (ms: number, secret = stack.secret): string => {
  const credential = { name: 'SERVICE_SECRET', role: 'all' as const }
  const { header } = new SignInCookies([{ ...credential, secret }], false).create(credential, ms)
  return header.split(';', 1)[0] ?? ''
}

describe('the page', () => {
  it('needs no credentials, cannot be framed, and loads scripts of the service alone', async () => {
    const page = await get('/dashboard/')
    expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8'])
    const policy = page.headers.get('content-security-policy')
    expect(policy).toContain("default-src 'none'; script-src 'self'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    expect(page.headers.get('cache-control')).toBe('no-cache')
    const etag = page.headers.get('etag') ?? ''
    expect((await get('/dashboard/', { 'if-none-match': etag, 'cache-control': 'max-age=0' })).status).toBe(304)
    expect((await get('/dashboard/page.js')).status).toBe(200)
    expect((await get('/dashboard/page.js', { 'accept-encoding': 'br' })).headers.get('content-encoding')).toBe('br')
  })

  it('has an address that ends with a slash, and keeps the query', async () => {
    const moved = await get('/dashboard?a=b')
    expect([moved.status, moved.headers.get('location')]).toEqual([308, '/service/dashboard/?a=b'])
  })

  it.each(['/dashboard/account', '/dashboard/search?text=a', '/dashboard/live/overview', '/dashboard/nowhere'])(
    '%s needs credentials, and is answered without the challenge that opens a dialog of the browser',
    async (path) => {
      const answer = await get(path)
      expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([401, null])
    },
  )

  it.each(['/dashboard/..%2fapi/config', '/dashboard/page.js/../../api/config', '/dashboard/live/page.js'])(
    'opens no other path: %s',
    async (path) => expect((await get(path)).status).toBe(401),
  )
})

describe('a sign-in', () => {
  it('gives a cookie that scripts cannot read, and the account', async () => {
    const answer = await signIn(stack.masterUrl, READER)
    expect(answer.headers.get('set-cookie')).toMatch(/; Path=\/service; Max-Age=43200; HttpOnly; SameSite=Strict$/)
    expect(answer.headers.get('cache-control')).toBe('no-store')
    expect(await answer.json()).toMatchObject({
      credential: { name: 'reports', role: 'read-only' },
      edition: 'pro',
      features: { recording: false, history: false, webhook: false, networkQuality: false },
      otherDashboard: 'https://grafana.example/d/1',
    })
    const account = (await (await reader.request('GET', '/dashboard/account')).json()) as object
    expect(account).toEqual(reader.account)
  })

  it.each<[string, number, unknown]>([
    ['a wrong secret', 401, 'wrong'],
    ['a secret with a tail', 401, `${READER}x`],
    ['an empty secret', 400, ''],
    ['no secret', 400, undefined],
    ['a list of secrets', 400, [READER]],
    ['a very long secret', 400, 'x'.repeat(2_000)],
  ])('with %s is answered with %d and without a cookie', async (_, status, secret) => {
    const answer = await signIn(stack.masterUrl, secret)
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([status, null])
    expect(answer.headers.get('www-authenticate')).toBeNull()
  })

  it('from a page of another origin is refused', async () => {
    const answer = await fetch(`${stack.masterUrl}/service/dashboard/sign-in`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', origin: 'https://evil.example' },
      body: JSON.stringify({ secret: READER }),
    })
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null])
  })

  it('counts at every master, until the sign-out removes the cookie from the browser', async () => {
    expect((await main.at(stack.masterUrls[1] ?? '').request('GET', '/dashboard/account')).status).toBe(200)
    const out = await main.request('POST', '/dashboard/sign-out')
    expect([out.status, out.headers.get('set-cookie')]).toEqual([204, expect.stringMatching(/sign-in=; .*Max-Age=0;/)])
  })
})

describe('a cookie', () => {
  it.each<[string, number, () => string]>([
    ['of this service', 200, () => main.cookie],
    ['that is about to expire', 200, () => cookieMadeAt(main.account.expiresAt - 2 * LIFETIME_MS + 600_000)],
    ['that has expired', 401, () => cookieMadeAt(main.account.expiresAt - 2 * LIFETIME_MS - 60_000)],
    ['of a former secret', 401, () => cookieMadeAt(main.account.expiresAt, 'a-former-secret')],
    ['with another credential', 401, () => reader.cookie.replace(/=\w+/, '=U0VSVklDRV9TRUNSRVQ')],
    ['without a signature', 401, () => main.cookie.replace(/\.[\w-]+$/, '')],
  ])('%s is answered with %d', async (_, status, cookie) => {
    const answer = await get('/api/sessions', { cookie: cookie() })
    expect([answer.status, answer.headers.get('www-authenticate')]).toEqual([status, null])
  })

  it('is accepted where the router itself answers', async () => {
    expect((await get('/api/%zz', { cookie: main.cookie })).status).toBe(400)
    expect((await get('/api/%zz')).status).toBe(401)
  })

  it('yields to the Authorization header of a request, except for those of the dashboard', async () => {
    const both = { cookie: main.cookie, authorization: basicAuth(READER) }
    expect((await get('/api/config', both)).status).toBe(403)
    expect((await get('/api/config', { ...both, authorization: basicAuth('wrong') })).status).toBe(401)
    expect((await get('/api/config', { ...both, 'x-csrf-token': main.account.csrfToken })).status).toBe(200)
    expect(await (await get('/dashboard/account', both)).json()).toMatchObject({ credential: { role: 'all' } })
    expect((await get('/dashboard/account', { authorization: basicAuth(stack.secret) })).status).toBe(403)
  })
})

describe('a request with side effects', () => {
  const create = (client: DashboardClient, headers?: Record<string, string>): Promise<Response> =>
    client.request('POST', '/api/sessions', {}, headers)

  it.each<[string, number, (client: DashboardClient) => Record<string, string>]>([
    ['without the token', 403, () => ({})],
    ['with an empty token', 403, () => ({ 'x-csrf-token': '' })],
    ['with the token of another sign-in', 403, () => ({ 'x-csrf-token': reader.account.csrfToken })],
    ['with the cookie as the token', 403, ({ cookie }) => ({ 'x-csrf-token': cookie })],
    ['with its token', 200, ({ account }) => ({ 'x-csrf-token': account.csrfToken })],
    [
      'with its token from another origin',
      403,
      ({ account }) => ({ 'x-csrf-token': account.csrfToken, origin: 'https://evil.example' }),
    ],
    ['with Basic credentials in addition', 200, () => ({ authorization: basicAuth(stack.secret) })],
  ])('%s is answered with %d', async (_, status, headers) => {
    expect((await create(main, headers(main))).status).toBe(status)
  })

  it('names the missing header', async () => {
    expect(await (await create(main, {})).json()).toMatchObject({ message: expect.stringMatching(/^x-csrf-token: /) })
  })

  it('is refused by the role of the sign-in', async () => {
    expect((await create(reader)).status).toBe(403)
    const tenant = await DashboardClient.signIn(stack.masterUrl, TENANT)
    expect((await create(tenant)).status).toBe(403)
    expect((await tenant.request('POST', '/api/sessions', { customSessionId: 'a_1' })).status).toBe(200)
    expect((await tenant.request('DELETE', '/api/sessions/a_1')).status).toBe(204)
  })
})

// Last, because the source of the requests stays throttled for a while.
it('wrong secrets are throttled together with wrong Basic credentials, and right ones are not', async () => {
  const statuses = new Set<number>()
  for (let nth = 0; nth < 40; nth += 1) {
    statuses.add((await signIn(stack.masterUrl, 'a-guess')).status)
    statuses.add((await new ServiceApi(stack.masterUrl, 'a-guess').request('GET', '/sessions')).status)
  }
  expect([...statuses]).toEqual([401, 429])
  const refused = await signIn(stack.masterUrl, 'a-guess')
  expect([refused.status, Number(refused.headers.get('retry-after'))]).toEqual([429, expect.any(Number)])
  expect((await signIn(stack.masterUrl, READER)).status).toBe(200)
})
