import { type TestDatabase, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { departures, networkQualityChanged, sessionCreated, sessionDestroyed } from '../event-drafts.js'
import { EventLog } from '../event-log.js'
import { HistoryService } from '../history/history.service.js'
import { SessionHistoryRepository } from '../history/session-history.repository.js'
import { OutboxRepository } from '../outbox.repository.js'
import { SearchServer } from './fixtures/search-server.js'
import { SearchService } from './search.service.js'

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let server: SearchServer
let events: EventLog
let running: { onModuleDestroy: () => Promise<void> }[]

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
})
afterAll(() => close())
beforeEach(async () => {
  server = await SearchServer.open()
  const config = {
    SERVICE_CDR: false,
    SERVICE_WEBHOOK: false,
    SERVICE_HISTORY: false,
    SERVICE_HISTORY_RETENTION: 30,
    SERVICE_PRO_SEARCH: true,
    SERVICE_PRO_SEARCH_HOST: server.url,
    SEARCH_USERNAME: 'writer',
    SEARCH_PASSWORD: 'pass:word',
    SERVICE_PRO_CLUSTER_ID: 'cluster',
  } as unknown as MasterConfig
  const outbox = new OutboxRepository(dataSource)
  events = new EventLog(dataSource, config)
  const search = new SearchService(outbox, events, config)
  const history = new HistoryService(outbox, events, new SessionHistoryRepository(dataSource), config)
  running = [search, history]
  search.onApplicationBootstrap()
  history.onApplicationBootstrap()
})
afterEach(async () => {
  await Promise.all(running.map((each) => each.onModuleDestroy()))
  await server.close()
  await database.query('TRUNCATE session_history, session_record, outbox')
})

const session = { id: 'daily', uniqueSessionId: 'daily_1000', createdAt: 1_000 }
const alice = {
  connectionId: 'alice',
  activeAt: 2_000,
  location: null,
  ip: '192.0.2.1',
  platform: 'Chrome',
  clientData: '',
  serverData: '',
}

/** Records the events of a session from its creation to its end. */
const recordSession = (): Promise<unknown> =>
  events.transaction((_, record) =>
    record(
      sessionCreated(session, { customSessionId: 'daily' }),
      networkQualityChanged(session, { connectionId: 'alice', newValue: 4 }, 3_000),
      ...departures(session, [alice], [], 'disconnect', 8_000),
      sessionDestroyed(session, 'lastParticipantLeft', 9_000),
    ),
  )
const isSent = () =>
  until('all documents are sent', async () => {
    const [row] = await database.query('SELECT count(*)::int AS count FROM outbox')
    return row?.count === 0
  })

it('the search server gets the events, network quality and summaries of a session, with the credentials', async () => {
  await recordSession()
  await isSent()
  expect(server.ofType('cdr').map(({ event }) => event)).toEqual([
    'sessionCreated',
    'participantLeft',
    'sessionDestroyed',
  ])
  expect(server.ofType('networkQualityStats')).toMatchObject([
    { connectionId: 'alice', newValue: 4, sessionId: 'daily' },
  ])
  const ids = { sessionId: 'daily', uniqueSessionId: 'daily_1000', cluster_id: 'cluster', timestamp: 9_000 }
  expect(server.ofType('sessionSummary')).toMatchObject([
    { ...ids, customSessionId: 'daily', duration: 8, users: { numberOfElements: 1 } },
  ])
  expect(server.ofType('userSummary')).toMatchObject([
    { ...ids, platform: 'Chrome', connections: { numberOfElements: 1, content: [{ connectionId: 'alice' }] } },
  ])
  expect(server.ofType('connectionSummary')).toMatchObject([{ ...ids, connectionId: 'alice', duration: 6 }])
  expect([...server.authorizations]).toEqual([`Basic ${Buffer.from('writer:pass:word').toString('base64')}`])
  // The history itself is off.
  expect(await database.query('SELECT * FROM session_history')).toEqual([])
})

it.each([
  { answer: 'has', creation: { status: 400, body: '{"error":{"type":"resource_already_exists_exception"}}' } },
  { answer: 'refuses', creation: { status: 403, body: '{"error":{"type":"security_exception"}}' } },
])(
  'a server that $answer the index is asked once for one without dates, and gets all documents',
  async ({ creation }) => {
    server.creation = creation
    for (let batch = 0; batch < 2; batch++) {
      await recordSession()
      await isSent()
    }
    expect(server.creations).toEqual(['{"mappings":{"date_detection":false}}'])
    expect(server.ofType('cdr')).toHaveLength(6)
  },
)

it('the index is created before the first documents also when the server is not available at first', async () => {
  server.creation = { status: 503, body: '' }
  await recordSession()
  await until('the creation fails', () => server.creations.length > 0)
  expect(server.requests).toBe(server.creations.length)
  server.creation = { status: 200, body: '{}' }
  await isSent()
  expect(server.creations.length).toBeGreaterThan(1)
  expect(server.documents.size).toBe(7)
})

it('the index is created again before the documents of a request that was refused', async () => {
  server.creation = { status: 401, body: '' }
  server.statusOfBulk = 401
  await recordSession()
  await until('a request is refused', () => server.requests > server.creations.length)
  server.creation = { status: 200, body: '{}' }
  server.statusOfBulk = 200
  const before = server.creations.length
  await isSent()
  expect(server.creations.length).toBeGreaterThan(before)
})

it('documents wait while the search server is not available, and arrive once', async () => {
  server.status = 503
  await recordSession()
  await until('a request is refused', () => server.requests > 0)
  expect(server.documents.size).toBe(0)
  server.status = 200
  server.statusOf = () => (server.requests > 3 ? 201 : 429)
  await isSent()
  expect(server.documents.size).toBe(7)
})

it('a document that the search server refuses does not hold up the others', async () => {
  server.statusOf = ({ event }) => (event === 'participantLeft' ? 400 : 201)
  await recordSession()
  await isSent()
  expect(server.ofType('cdr').map(({ event }) => event)).toEqual(['sessionCreated', 'sessionDestroyed'])
  expect(server.ofType('connectionSummary')).toHaveLength(1)
})

it('a server that takes only short requests gets several, and a document that it never takes is dropped', async () => {
  server.mostBytes = 1_500
  alice.clientData = 'x'.repeat(2_000)
  await recordSession().finally(() => (alice.clientData = ''))
  await isSent()
  expect(server.ofType('cdr').map(({ event }) => event)).toEqual(['sessionCreated', 'sessionDestroyed'])
  expect(server.ofType('networkQualityStats')).toHaveLength(1)
})

it('a search server that does not answer does not delay the shutdown, and no document is lost', async () => {
  server.hangs = true
  await recordSession()
  await until('a request waits', () => server.requests > 0)
  const stopped = Promise.all(running.map((each) => each.onModuleDestroy())).then(() => 'stopped')
  const timedOut = new Promise((resolve) => setTimeout(resolve, 8_000, 'timed out').unref())
  expect(await Promise.race([stopped, timedOut])).toBe('stopped')
  const [row] = await database.query(`SELECT count(*)::int AS count FROM outbox WHERE consumer = 'search'`)
  expect(row?.count).toBeGreaterThan(0)
})
