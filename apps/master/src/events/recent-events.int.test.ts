import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { sessionCreated, signalSent } from './event-drafts.js'
import { EventLog } from './event-log.js'
import { RecentEvents } from './recent-events.service.js'

const NO_CONSUMERS = { SERVICE_CDR: false, SERVICE_WEBHOOK: false, SERVICE_WEBHOOK_EVENTS: [], SERVICE_HISTORY: false }
const SESSION = { id: 'daily', uniqueSessionId: 'daily_1', createdAt: 1_000 }

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let recent: RecentEvents

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  recent = new RecentEvents(dataSource)
})
afterAll(() => close())
beforeEach(() => database.query('TRUNCATE recent_event, outbox'))

const logWith = (isShown: boolean): EventLog =>
  new EventLog(dataSource, { ...NO_CONSUMERS, SERVICE_PRO_DASHBOARD: isShown } as unknown as MasterConfig)

describe('recent events', () => {
  it('are stored in the transaction of their change, also without a consumer, with long texts cut', async () => {
    const signal = signalSent(SESSION, { from: null, to: [], type: 'chat', data: 'x'.repeat(5_000) }, 2_000)
    const [first] = await logWith(true).transaction((_, record) => record(sessionCreated(SESSION, {}), signal))
    const found = await recent.find({ limit: 10 })
    expect(found.map(({ name, sessionId, createdAt }) => [name, sessionId, createdAt])).toEqual([
      ['signalSent', 'daily', 2_000],
      ['sessionCreated', 'daily', 1_000],
    ])
    expect(found[1]?.id).toBe(first)
    expect(JSON.parse(found[0]?.payload ?? '')).toMatchObject({ type: 'chat', data: `${'x'.repeat(1_000)}…` })
    expect(await database.query('SELECT 1 FROM outbox')).toEqual([])
    const failed = logWith(true).transaction(async (_, record) => {
      await record(sessionCreated(SESSION, {}))
      throw new Error('the change failed')
    })
    await expect(failed).rejects.toThrow('the change failed')
    expect(await recent.find({ limit: 10 })).toHaveLength(2)
  })

  it('are not stored while the dashboard is disabled', async () => {
    await logWith(false).transaction((_, record) => record(sessionCreated(SESSION, {})))
    expect(await recent.find({ limit: 10 })).toEqual([])
  })

  it('are found by the prefix of their session, by their session, their name and a part of them', async () => {
    await database.query(
      `INSERT INTO recent_event (id, name, session_id, payload, created_at)
       VALUES ('e1', 'sessionCreated', 'a_1', '{"data":"Zoë"}', 1), ('e2', 'sessionDestroyed', 'a_2', '{}', 2),
              ('e3', 'sessionCreated', 'xa_1', '{}', 3), ('e4', 'nodeCrashed', NULL, '{}', 4)`,
    )
    const found = async (filter: object): Promise<string[]> =>
      (await recent.find({ limit: 10, ...filter })).map(({ id }) => id)
    expect(await found({})).toEqual(['e4', 'e3', 'e2', 'e1'])
    expect(await found({ prefix: 'a_' })).toEqual(['e2', 'e1'])
    expect(await found({ sessionId: 'a_1' })).toEqual(['e1'])
    expect(await found({ name: 'sessionCreated' })).toEqual(['e3', 'e1'])
    expect(await found({ search: 'ZOë' })).toEqual(['e1'])
    expect(await found({ search: '%' })).toEqual([])
    expect(await found({ limit: 1 })).toEqual(['e4'])
  })

  it('are deleted after an hour, and beyond ten thousand the oldest first', async () => {
    await database.query(
      `INSERT INTO recent_event (id, name, payload, created_at, stored_at)
       SELECT 'e' || n, 'x', '{}', n, clock_timestamp() - CASE WHEN n > 10003 THEN interval '61 minutes' ELSE '0' END
       FROM generate_series(1, 10005) n`,
    )
    await recent.purge()
    const [left] = await database.query('SELECT count(*)::int AS count FROM recent_event')
    expect(left?.count).toBe(9_998)
    expect((await recent.find({ limit: 1 })).map(({ id }) => id)).toEqual(['e10003'])
  })
})
