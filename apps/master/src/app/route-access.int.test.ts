import { basicAuth, ServiceApi, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'

const READER = 'a-secret-of-the-reader'
const TENANT = 'a-secret-of-the-tenant'
const SECOND = 'a-second-secret-for-all'
const ROTATED = 'the-rotated-secret-of-the-service'

let stack: Stack
let main: ServiceApi
let reader: ServiceApi
let tenant: ServiceApi

beforeAll(async () => {
  const secrets = [
    { name: 'reports', secret: READER, role: 'read-only' },
    { name: 'tenant', secret: TENANT, role: 'session-prefix', prefix: 'a_' },
    { name: 'second', secret: SECOND, role: 'all' },
  ]
  stack = await startStack({
    nodes: 0,
    masterEnv: {
      SERVICE_RECORDING: 'true',
      SERVICE_LOG_LEVEL: 'debug',
      SERVICE_API_SECRETS: JSON.stringify(secrets),
    },
  })
  main = stack.api
  reader = new ServiceApi(stack.masterUrl, READER)
  tenant = new ServiceApi(stack.masterUrl, TENANT)
  for (const customSessionId of ['a_mine', 'other']) await main.createSession({ customSessionId })
  await stack.postgres.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id)
     SELECT id, id, id || '_1', 'ready', 1, '{"name": "take"}', 'node' FROM unnest(ARRAY['a_mine', 'other']) AS id`,
  )
})
afterAll(() => stack.stop())

const statusOf = async (api: ServiceApi, method: string, path: string, body?: unknown): Promise<number> =>
  (await api.request(method, path, body)).status
const ids = (body: unknown): string[] =>
  Object.values(body as object)
    .filter((value) => Array.isArray(value))
    .flat()
    .map((item: { id?: string; sessionId: string }) => item.id ?? item.sessionId)

describe('the role all', () => {
  it('may do what SERVICE_SECRET may', async () => {
    const second = new ServiceApi(stack.masterUrl, SECOND)
    expect(await statusOf(second, 'GET', '/config')).toBe(200)
    const { id } = await second.createSession()
    expect(await statusOf(second, 'DELETE', `/sessions/${id}`)).toBe(204)
  })
})

describe('the role read-only', () => {
  it.each([
    ['GET', '/sessions', 200],
    ['GET', '/sessions/other', 200],
    ['GET', '/recordings', 200],
    ['GET', '/webhook/dead-letters', 200],
    ['GET', '/health', 503],
    ['GET', '/config', 403],
    ['GET', '/media-nodes', 403],
    ['POST', '/sessions', 403],
    ['DELETE', '/sessions/other', 403],
    ['POST', '/recordings/start', 403],
    ['POST', '/restart', 403],
    ['DELETE', '/recordings/other', 403],
    ['POST', '/nowhere', 404],
  ])('%s %s answers %d', async (method, path, status) => {
    expect(await statusOf(reader, method, path, method === 'POST' ? {} : undefined)).toBe(status)
  })

  it('sees connections without their tokens and other secrets', async () => {
    const customIceServers = [{ url: 'turn:turn.example.org', username: 'user', credential: 'private' }]
    const { id, token } = await main.createConnection('other', { customIceServers })
    expect(token).toMatch(/token=tok_/)
    const hidden = { id, token: null, customIceServers: null, rtspUri: null }
    expect((await reader.request('GET', `/sessions/other/connection/${id}`)).body).toMatchObject(hidden)
    const paths = [
      '/sessions/other/connection',
      '/sessions/other?pendingConnections=true',
      '/sessions?pendingConnections=true',
    ]
    for (const path of paths) {
      const text = JSON.stringify((await reader.request('GET', path)).body)
      expect(text).toContain(id)
      expect(text).not.toMatch(/tok_|private/)
      expect(JSON.stringify((await main.request('GET', path)).body)).toContain('tok_')
    }
  })
})

describe('the role session-prefix', () => {
  it.each([
    ['GET', '/sessions/a_mine', 200],
    ['GET', '/sessions/other', 403],
    ['GET', '/sessions/none', 403],
    ['GET', '/sessions/a_none', 404],
    ['POST', '/sessions/a_mine/connection', 200],
    ['POST', '/sessions/other/connection', 403],
    ['GET', '/recordings/a_mine', 200],
    ['GET', '/recordings/other', 403],
    ['DELETE', '/recordings/other', 403],
    ['GET', '/service/recordings/other/take.mp4', 403],
    ['GET', '/service/recordings/a_mine/take.mp4', 404],
    ['GET', '/webhook/dead-letters', 403],
    ['GET', '/service/cdr', 403],
    ['GET', '/transcripts?q=x', 403],
    ['GET', '/config', 403],
    ['GET', '/media-nodes', 403],
    ['POST', '/restart', 403],
    ['GET', '/health', 503],
  ])('%s %s answers %d', async (method, path, status) => {
    expect(await statusOf(tenant, method, path, method === 'POST' ? {} : undefined)).toBe(status)
  })

  it('creates sessions with its prefix only, and sends signals to them only', async () => {
    const refused = await tenant.request('POST', '/sessions', {})
    expect(refused).toMatchObject({ status: 403, body: { message: expect.stringContaining('customSessionId') } })
    expect(await statusOf(tenant, 'POST', '/sessions', { customSessionId: 'b_new' })).toBe(403)
    expect(await statusOf(tenant, 'POST', '/sessions', { customSessionId: 'a_new' })).toBe(200)
    expect(await statusOf(tenant, 'POST', '/signal', { session: 'other', data: 'x' })).toBe(403)
    expect(await statusOf(tenant, 'POST', '/signal', { session: 'a_mine', data: 'x' })).toBe(406)
    expect(await statusOf(tenant, 'DELETE', '/sessions/a_new')).toBe(204)
  })

  it('sees its sessions and recordings only in lists, also in the deprecated ones', async () => {
    // The last two are the deprecated paths, in a spelling that the client of the tests takes for absolute.
    for (const path of ['/sessions', '/recordings', '/service/../api/sessions', '/service/../api/recordings']) {
      const { body } = await tenant.request('GET', path)
      expect([path, ids(body)]).toEqual([path, ['a_mine']])
      expect(ids((await main.request('GET', path)).body)).toEqual(expect.arrayContaining(['a_mine', 'other']))
    }
  })
})

describe('the name of the credential', () => {
  it('is in the log of its requests and in the metrics, and the secret is in neither', async () => {
    await reader.request('GET', '/sessions/marked')
    const line = /sessions\/marked.*"credentialName":"reports"/
    await until('the request is logged', () => stack.journal.find(line).length > 0)
    const metrics = await (await fetch(`${stack.masters[0]?.opsUrl}/metrics`)).text()
    expect(metrics).toMatch(/http_credential_requests_total\{.*credential="reports".*\} [1-9]/)
    for (const secret of [READER, TENANT, SECOND, stack.secret]) {
      expect(stack.journal.find(secret)).toEqual([])
      expect(metrics).not.toContain(secret)
    }
  })
})

describe('SERVICE_SECRET_PREVIOUS', () => {
  it('keeps the former secret, and tokens of connections, valid while masters change to the new one', async () => {
    const { id, token } = await main.createConnection('other')
    const rotated = await stack.addMaster({ SERVICE_SECRET: ROTATED, SERVICE_SECRET_PREVIOUS: stack.secret })
    const url = `http://${rotated.env.SERVICE_HOST}:${rotated.env.SERVICE_PORT}`
    const path = `/sessions/other/connection/${id}`
    for (const secret of [ROTATED, stack.secret]) {
      const { status, body } = await new ServiceApi(url, secret).request('GET', path)
      expect(status).toBe(200)
      const { token: shown } = body as { token: string }
      expect(new URL(shown).searchParams.get('token')).toBe(new URL(String(token)).searchParams.get('token'))
    }
    expect(await statusOf(new ServiceApi(stack.masterUrl, ROTATED), 'GET', path)).toBe(401)
    const create = async (at: string, secret: string, body: object) => {
      const { status, headers } = await fetch(`${at}/service/api/sessions`, {
        method: 'POST',
        headers: {
          authorization: basicAuth(secret),
          'content-type': 'application/json',
          'idempotency-key': 'across-the-rotation',
        },
        body: JSON.stringify(body),
      })
      return [status, headers.get('idempotent-replayed')]
    }
    expect(await create(stack.masterUrl, stack.secret, {})).toEqual([200, null])
    expect(await create(url, ROTATED, {})).toEqual([200, 'true'])
    expect(await create(url, ROTATED, { mediaMode: 'RELAYED' })).toEqual([422, null])
  })
})
