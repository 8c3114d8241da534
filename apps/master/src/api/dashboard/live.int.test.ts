import type { LiveViewName } from '@session-service/contract/dashboard'
import { calmMs, type Stack, startStack, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { Client } from 'pg'
import { SignInCookies } from '../../platform/authentication/sign-in-cookies.js'
import { DashboardClient, type LiveClient } from './fixtures/dashboard-client.js'

const READER = 'a-secret-of-the-reader'
const TENANT = 'a-secret-of-the-tenant'
const LIFETIME_MS = 12 * 3_600_000
const PATIENCE_MS = 60_000
const MAX_STREAMS = 200

let stack: Stack
let main: DashboardClient
let reader: DashboardClient
let tenant: DashboardClient
const open: { close(): void }[] = []

beforeAll(async () => {
  const secrets = [
    { name: 'reports', secret: READER, role: 'read-only' },
    { name: 'tenant', secret: TENANT, role: 'session-prefix', prefix: 'a_' },
  ]
  stack = await startStack({
    nodeEnv: { MEDIA_NODE_ID: 'north' },
    masterEnv: {
      SERVICE_PRO_DASHBOARD: 'true',
      SERVICE_RECORDING: 'true',
      SERVICE_HISTORY: 'true',
      SERVICE_REST_RATE_LIMIT: '50',
      SERVICE_API_SECRETS: JSON.stringify(secrets),
    },
  })
  const signIn = (secret: string): Promise<DashboardClient> => DashboardClient.signIn(stack.masterUrl, secret)
  ;[main, reader, tenant] = await Promise.all([signIn(stack.secret), signIn(READER), signIn(TENANT)])
  for (const customSessionId of ['a_mine', 'other']) await stack.api.createSession({ customSessionId })
  await stack.join('a_mine', { data: 'Ann of the tenant' })
  await stack.join('other')
  await stack.api.createConnection('other')
  await stack.postgres.query(
    `INSERT INTO recording (id, session_id, unique_session_id, status, created_at, properties, media_node_id, file, size)
     SELECT id, id, id || '_1', 'ready', 1, '{"name": "take"}', 'north', 'take.mp4', 7
     FROM unnest(ARRAY['a_mine', 'other']) AS id`,
  )
  await stack.postgres.query(
    `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, dead_at)
     VALUES ('evt_dead', 'webhook', 'other_1', 'sessionCreated', '{"sessionId": "other"}', 1, now())`,
  )
})
afterEach(() => {
  for (const client of open.splice(0)) client.close()
})
afterAll(() => stack.stop())

async function live<V extends LiveViewName>(client: DashboardClient, view: V, query = {}): Promise<LiveClient<V>> {
  const opened = await client.live(view, query)
  open.push(opened)
  return opened
}
/** The view as the client gets it first, and the summary with it. */
async function first<V extends LiveViewName>(client: DashboardClient, view: V, query = {}) {
  const opened = await live(client, view, query)
  await until('the view arrives', () => opened.view !== undefined && opened.last('summary') !== undefined)
  const summary = opened.last('summary')
  if (!opened.view || !summary) throw new Error('nothing arrived')
  return { view: opened.view, summary, text: JSON.stringify(opened.sent) }
}
const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id).toSorted()

describe('a live view', () => {
  it('is a stream that neither proxies nor browsers keep', async () => {
    const { answer } = await live(main, 'sessions')
    expect([
      answer.status,
      ...['content-type', 'cache-control', 'x-accel-buffering'].map((name) => answer.headers.get(name)),
    ]).toEqual([200, 'text/event-stream', 'no-store, no-transform', 'no'])
  })

  it('shows at once what its dashboard has changed, and what others have within seconds', async () => {
    const sessions = await live(main, 'sessions', { search: 'LIVE-' })
    await until('the view arrives', () => sessions.view?.total === 0)
    const before = calmMs()
    expect((await main.request('POST', '/api/sessions', { customSessionId: 'live-1' })).status).toBe(200)
    await until('the new session is shown', () => sessions.view?.total === 1)
    expect(calmMs() - before).toBeLessThan(1_500)
    const count = sessions.sent.filter(({ event }) => event === 'view').length
    await stack.api.createSession({ customSessionId: 'live-2' })
    await until('the next session is shown', () => sessions.view?.total === 2)
    expect(sessions.view).toMatchObject({
      rows: [{ id: 'live-2' }, { id: 'live-1', participants: 0, isRecorded: false }],
    })
    expect(sessions.sent.filter(({ event }) => event === 'view')).toHaveLength(count + 1)
    // The summary is read for itself.
    await until('the summary counts both', () => sessions.last('summary')?.sessions === 4)
    expect(sessions.last('summary')).toMatchObject({ status: 'UP', mediaNodes: { running: 1, total: 1 } })
    for (const id of ['live-1', 'live-2']) await stack.api.deleteSession(id)
    await until('both are gone', () => sessions.view?.total === 0)
  })

  it('ends with 404 when its subject is gone', async () => {
    await stack.api.createSession({ customSessionId: 'short' })
    const session = await live(main, 'session', { id: 'short' })
    await until('the view arrives', () => session.view !== undefined)
    await stack.api.deleteSession('short')
    await session.ended
    expect(session.last('failure')).toMatchObject({ status: 404 })
  })

  it('reports a failure of the database, and goes on after it', async () => {
    const sessions = await live(main, 'sessions')
    await until('the view arrives', () => sessions.view !== undefined)
    const locker = new Client(stack.postgres.url)
    await locker.connect()
    await locker.query('BEGIN; LOCK TABLE session IN ACCESS EXCLUSIVE MODE')
    const failures = (feed: 'summary' | 'view') =>
      sessions.sent.filter(({ event, data }) => event === 'failure' && data.startsWith(`{"feed":"${feed}"`))
    const haveFailed = (): boolean => failures('summary').length > 0 && failures('view').length > 0
    await until('the failures of summary and view are shown', haveFailed, PATIENCE_MS)
    expect(sessions.last('failure')).toMatchObject({ status: 503 })
    await locker.query('ROLLBACK')
    await locker.end()
    const views = sessions.sent.length
    await until('the view is shown again', () => sessions.sent.slice(views).some(({ event }) => event === 'view'))
  })

  it('ends when the sign-in expires', async () => {
    const cookies = new SignInCookies([{ name: 'SERVICE_SECRET', secret: stack.secret, role: 'all' }], false)
    const signedInAt = main.account.expiresAt - LIFETIME_MS
    const now = await stack.postgres.query('SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms')
    expect(Number(now[0]?.ms)).toBeGreaterThan(signedInAt - 60_000)
    const { header } = cookies.create({ name: 'SERVICE_SECRET', role: 'all' }, Number(now[0]?.ms) - LIFETIME_MS + 2_000)
    const brief = new DashboardClient(stack.masterUrl, header.split(';', 1)[0] ?? '', main.account)
    const sessions = await live(brief, 'sessions')
    expect(sessions.answer.status).toBe(200)
    await sessions.ended
    expect(sessions.last('failure')).toMatchObject({ status: 401 })
    expect((await brief.request('GET', '/dashboard/account')).status).toBe(401)
  })

  it.each([
    ['nowhere', {}, 404],
    ['toString', {}, 404],
    ['sessions', { sort: 'other' }, 400],
    ['sessions', { page: '0' }, 400],
    ['sessions', { unknown: '1' }, 400],
    ['session', {}, 400],
  ])('%s with the query %j is answered with %d', async (view, query, status) => {
    expect((await live(main, view as LiveViewName, query)).answer.status).toBe(status)
  })

  it('has no stream for HEAD', async () => {
    const head = await main.request('HEAD', '/dashboard/live/sessions')
    expect([head.status, head.headers.get('content-type')]).toEqual([200, 'text/event-stream'])
  })
})

describe('the content of views', () => {
  it('shows a session with its participants, without tokens, also to the role all', async () => {
    const { view, text } = await first(main, 'session', { id: 'other' })
    expect(view).toMatchObject({ session: { id: 'other', mediaNodeId: 'north' }, pending: 1 })
    expect(view.participants).toMatchObject([{ type: 'WEBRTC', status: 'active', token: null, quality: null }])
    expect(view.events.map(({ name }) => name)).toEqual(['participantJoined', 'sessionCreated'])
    expect(view.recordings).toMatchObject([{ id: 'other', name: 'take', path: '/service/recordings/other/take.mp4' }])
    expect(text).not.toContain('tok_')
  })

  it('shows media nodes, recordings, events, dead letters and the configuration', async () => {
    expect((await first(main, 'overview')).view).toMatchObject({
      nodes: [{ id: 'north', status: 'running', connected: true, sessionCount: 2, heartbeat: { workers: 1 } }],
      busiest: [{ participants: 1 }, { participants: 1 }],
      masters: [{ uri: stack.masterUrl, status: 'UP' }],
    })
    const node = (await first(main, 'media-node', { id: 'north' })).view
    expect([node.node.id, ids(node.sessions.rows)]).toEqual(['north', ['a_mine', 'other']])
    const recordings = (await first(main, 'recordings', { search: 'TAKE', status: 'ready' })).view
    expect([recordings.total, recordings.bytes, ids(recordings.rows)]).toEqual([2, 14, ['a_mine', 'other']])
    const joined = (await first(main, 'events', { name: 'participantJoined' })).view.rows
    expect(joined.map(({ sessionId }) => sessionId)).toEqual(['other', 'a_mine'])
    expect((await first(main, 'events', { search: 'ANN OF' })).view.rows).toMatchObject([{ sessionId: 'a_mine' }])
    const { view, summary } = await first(main, 'dead-letters')
    expect(view).toMatchObject({ total: 1, rows: [{ id: 'evt_dead', sessionId: 'other' }] })
    expect(summary.deadLetters).toBe(1)
    expect(summary.problems.map(({ view: shownBy }) => shownBy)).toEqual(['dead-letters'])
    const { properties } = (await first(main, 'configuration')).view
    expect(properties.find(({ name }) => name === 'SERVICE_SECRET')?.value).toBe('***')
  })

  it('finds sessions, participants, recordings and media nodes', async () => {
    const found = async (client: DashboardClient, text: string): Promise<unknown> =>
      (await client.request('GET', `/dashboard/search?text=${encodeURIComponent(text)}`)).json()
    const nothing = { sessions: [], connections: [], recordings: [], mediaNodes: [], endedSessions: [] }
    expect(await found(main, 'MINE')).toMatchObject({ sessions: [{ id: 'a_mine' }], recordings: [{ id: 'a_mine' }] })
    expect(await found(main, 'ann of')).toEqual({
      ...nothing,
      connections: [{ id: expect.any(String), sessionId: 'a_mine', data: 'Ann of the tenant' }],
    })
    expect(await found(main, 'north')).toMatchObject({ mediaNodes: [{ id: 'north', status: 'running' }] })
    expect(await found(reader, 'north')).toEqual(nothing)
    expect(await found(tenant, 'other')).toEqual(nothing)
    await stack.api.createSession({ customSessionId: 'gone' })
    await stack.api.deleteSession('gone')
    await until('the ended session is found', async () => JSON.stringify(await found(main, 'gone')).includes('gone_'))
    expect((await main.request('GET', '/dashboard/search?text=')).status).toBe(400)
  })
})

describe('the rights to views', () => {
  it.each<[LiveViewName, Record<string, string>, number, number]>([
    ['media-nodes', {}, 403, 403],
    ['media-node', { id: 'north' }, 403, 403],
    ['configuration', {}, 403, 403],
    ['dead-letters', {}, 200, 403],
    ['session', { id: 'other' }, 200, 403],
    ['session', { id: 'a_mine' }, 200, 200],
  ])('%s %j is answered with %d to read-only and %d to session-prefix', async (view, query, ...expected) => {
    const answers = await Promise.all([reader, tenant].map((client) => live(client, view, query)))
    expect(answers.map(({ answer }) => answer.status)).toEqual(expected)
  })

  it('restrict lists, counts, events and problems to the sessions of session-prefix', async () => {
    expect(ids((await first(tenant, 'sessions')).view.rows)).toEqual(['a_mine'])
    const recordings = (await first(tenant, 'recordings')).view
    expect([ids(recordings.rows), recordings.total, recordings.bytes]).toEqual([['a_mine'], 1, 7])
    const events = (await first(tenant, 'events')).view.rows
    expect([...new Set(events.map(({ sessionId }) => sessionId))]).toEqual(['a_mine'])
    const { view, summary } = await first(tenant, 'overview')
    expect([ids(view.busiest), view.nodes]).toEqual([['a_mine'], []])
    expect(summary).toMatchObject({ sessions: 1, participants: 1, deadLetters: 0, problems: [] })
    expect((await first(reader, 'overview')).view.nodes).toEqual([])
  })

  it('are those of each client where several look at the same view', async () => {
    const [all, own] = await Promise.all([live(main, 'sessions'), live(tenant, 'sessions')])
    await until('both have their view', () => all.view?.total === 2 && own.view?.total === 1)
  })
})

// Last, because the master restarts.
describe('the end of live views', () => {
  it('comes with 503 beyond the maximum, without a count against the rate of the credential', async () => {
    const streams = await Promise.all(Array.from({ length: MAX_STREAMS }, () => live(main, 'sessions')))
    expect([...new Set(streams.map(({ answer }) => answer.status))]).toEqual([200])
    const { answer } = await live(main, 'sessions')
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '2'])
    expect((await main.request('GET', '/api/sessions')).status).toBe(200)
    for (const client of open.splice(0)) client.close()
    await until('there is place again', async () => (await live(main, 'sessions')).answer.status === 200)
  })

  it('comes with a restart in place, which can disable the dashboard', async () => {
    const sessions = await live(main, 'sessions')
    await until('the view arrives', () => sessions.view !== undefined)
    expect((await main.request('POST', '/api/restart', { SERVICE_PRO_DASHBOARD: false })).status).toBe(200)
    await sessions.ended
    const authorization = stack.authorization
    const page = (): Promise<Response> => fetch(`${stack.masterUrl}/service/dashboard/`, { headers: { authorization } })
    await until('the dashboard is gone', async () => (await page().catch(() => undefined))?.status === 404, PATIENCE_MS)
    const refused = await main.request('GET', '/api/sessions')
    expect([refused.status, refused.headers.get('www-authenticate')]).toEqual([401, expect.stringContaining('Basic')])
  })
})
