import { type TestDatabase, until } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { type EventDraft, sessionCreated, sessionDestroyed } from '../event-drafts.js'
import { EventLog } from '../event-log.js'
import { OutboxRepository } from '../outbox.repository.js'
import { HistoryService } from './history.service.js'
import { SessionHistoryRepository } from './session-history.repository.js'

const CONFIG = {
  SERVICE_CDR: false,
  SERVICE_WEBHOOK: false,
  SERVICE_WEBHOOK_EVENTS: [],
  SERVICE_HISTORY: true,
  SERVICE_HISTORY_RETENTION: 30,
} as unknown as MasterConfig
const ROWS = 10_000

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let events: EventLog

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  events = new EventLog(dataSource, CONFIG)
})
afterAll(() => close())
beforeEach(() => database.query('TRUNCATE session_history, session_record, outbox'))

const historyWith = (more: Partial<MasterConfig> = {}): HistoryService =>
  new HistoryService(
    new OutboxRepository(dataSource),
    events,
    new SessionHistoryRepository(dataSource),
    Object.assign({}, CONFIG, more),
  )
const record = (...drafts: EventDraft[]): Promise<string[]> => events.transaction((_, write) => write(...drafts))
const sessionAt = (createdAt: number, id = 'daily') => ({ id, uniqueSessionId: `${id}_${createdAt}`, createdAt })
const count = async (table: string): Promise<number> =>
  Number((await database.query(`SELECT count(*) AS count FROM ${table}`))[0]?.count)
const isRead = () => until('the events are read', async () => (await count('outbox')) === 0)

/** Runs two masters' services while `run` runs. */
async function served(run: (history: HistoryService) => Promise<void>): Promise<void> {
  const both = [historyWith(), historyWith()] as const
  for (const each of both) each.onApplicationBootstrap()
  try {
    await run(both[0])
  } finally {
    await Promise.all(both.map((each) => each.onModuleDestroy()))
  }
}

const recordingChanged = (uniqueSessionId: string, status: 'stopped' | 'ready'): EventDraft => ({
  name: 'recordingStatusChanged',
  payload: {
    sessionId: 'daily',
    uniqueSessionId,
    timestamp: 5_000,
    id: 'daily',
    name: 'monday',
    outputMode: 'INDIVIDUAL',
    hasAudio: true,
    hasVideo: false,
    size: status === 'ready' ? 7 : 0,
    duration: 1,
    status,
    startTime: 4_000,
  },
})

describe('the history', () => {
  it('gets a session once at its end, with two masters, and later changes of its recordings', async () => {
    const session = sessionAt(1_000)
    await served(async (history) => {
      await record(sessionCreated(session, { customSessionId: 'daily' }), recordingChanged('daily_1000', 'stopped'))
      await isRead()
      expect(await history.list({})).toEqual({ numberOfElements: 0, content: [] })
      expect(await count('session_record')).toBe(2)
      await record(sessionDestroyed(session, 'sessionClosedByServer', 9_000))
      await isRead()
      expect(await history.get('daily_1000')).toMatchObject({
        customSessionId: 'daily',
        reason: 'sessionClosedByServer',
        recordings: { content: [{ status: 'stopped', size: 0 }] },
      })
      await record(recordingChanged('daily_1000', 'ready'))
      await isRead()
      expect((await history.get('daily_1000')).recordings.content).toMatchObject([{ status: 'ready', size: 7 }])
      expect(await count('session_record')).toBe(0)
    })
  })

  it('gets each of many sessions that end together, with its own records in their order', async () => {
    const sessions = Array.from({ length: 45 }, (_, nth) => sessionAt(nth + 1, `room${nth}`))
    await record(...sessions.map((session) => sessionCreated(session, { customSessionId: session.id })))
    await record(
      ...sessions.flatMap(({ uniqueSessionId }) => [
        recordingChanged(uniqueSessionId, 'stopped'),
        recordingChanged(uniqueSessionId, 'ready'),
      ]),
    )
    await record(...sessions.toReversed().map((session) => sessionDestroyed(session, 'sessionClosedByServer', 9_000)))
    await served(async (history) => {
      await isRead()
      for (const { id, uniqueSessionId, createdAt } of sessions)
        expect(await history.get(uniqueSessionId)).toMatchObject({
          id,
          customSessionId: id,
          createdAt,
          numberOfRecordings: 1,
          recordings: { content: [{ status: 'ready', size: 7 }] },
        })
      expect([await count('session_history'), await count('session_record')]).toEqual([45, 0])
    })
  })

  it('keeps the first of two uses of a session id that have the same unique id, and gets later sessions', async () => {
    await served(async (history) => {
      for (const [session, end] of [
        [sessionAt(1_000), 2_000],
        [sessionAt(1_000), 3_000],
        [sessionAt(4_000), 5_000],
      ] as const) {
        await record(sessionCreated(session, { customSessionId: 'daily' }))
        await record(sessionDestroyed(session, 'automaticStop', end))
        await isRead()
      }
      const { content } = await history.list({})
      expect(content.map(({ uniqueSessionId, destroyedAt }) => [uniqueSessionId, destroyedAt])).toEqual([
        ['daily_4000', 5_000],
        ['daily_1000', 2_000],
      ])
      expect(await count('session_record')).toBe(0)
    })
  })

  it('lists pages of sessions, the last one that ended first, by session, media node, reason and time', async () => {
    await served(async (history) => {
      for (const [createdAt, id] of [
        [1_000, 'daily'],
        [2_000, 'weekly'],
        [3_000, 'daily'],
      ] as const) {
        const session = sessionAt(createdAt, id)
        const reason = id === 'daily' ? 'automaticStop' : 'lastParticipantLeft'
        await record(sessionDestroyed(session, reason, createdAt + 500, { mediaNodeId: `media_${id}` }))
      }
      await isRead()
      const listed = async (query: Parameters<HistoryService['list']>[0]): Promise<string[]> =>
        (await history.list(query)).content.map(({ uniqueSessionId }) => uniqueSessionId)
      expect(await listed({})).toEqual(['daily_3000', 'weekly_2000', 'daily_1000'])
      expect((await history.list({}, 'week')).content).toMatchObject([{ id: 'weekly' }])
      expect(await listed({ session: 'daily' })).toEqual(['daily_3000', 'daily_1000'])
      expect(await listed({ mediaNode: 'media_weekly' })).toEqual(['weekly_2000'])
      expect(await listed({ reason: 'automaticStop' })).toEqual(['daily_3000', 'daily_1000'])
      expect(await listed({ from: '2500', to: '3500' })).toEqual(['weekly_2000'])
      const { next, numberOfElements } = await history.list({ limit: '2' })
      expect(numberOfElements).toBe(2)
      const last = await history.list({ limit: '2', after: next })
      expect(last.content.map(({ uniqueSessionId }) => uniqueSessionId)).toEqual(['daily_1000'])
      expect(last).not.toHaveProperty('next')
    })
  })

  it('deletes a session on request, and one that it does not have is not found', async () => {
    await served(async (history) => {
      await record(sessionDestroyed(sessionAt(1_000), 'automaticStop', 2_000))
      await isRead()
      await history.delete('daily_1000')
      for (const call of [history.get('daily_1000'), history.delete('daily_1000')])
        await expect(call).rejects.toMatchObject({ code: 'NOT_FOUND' })
      // A late change of a recording leaves nothing visible behind.
      await record(recordingChanged('daily_1000', 'ready'))
      await isRead()
      expect((await history.list({})).content).toEqual([])
    })
  })

  it('is refused while it is off', async () => {
    const off = historyWith({ SERVICE_HISTORY: false })
    for (const call of [off.list({}), off.get('a'), off.delete('a')])
      await expect(call).rejects.toMatchObject({ code: 'DISABLED' })
  })

  it('deletes what is older than the retention, and the records of sessions that ended while it was off', async () => {
    const insert = (id: string, days: number) =>
      database.query(
        `INSERT INTO session_history SELECT $1, 'a', '', 0, 0, 0, 'automaticStop', NULL, NULL, NULL, 0, 0, 0, '{}',
           clock_timestamp() - $2 * interval '1 day'`,
        [id, days],
      )
    await insert('old', 31)
    await insert('young', 29)
    await database.query(
      `INSERT INTO session_record SELECT n, 'gone_1', 'participantLeft', '{}', clock_timestamp() - n * interval '20 hours'
       FROM generate_series(1, 2) n`,
    )
    await historyWith().purgeOld({ isStopping: () => false })
    expect(await database.query('SELECT unique_session_id AS id FROM session_history')).toEqual([{ id: 'young' }])
    expect(await count('session_record')).toBe(1)
    await historyWith({ SERVICE_HISTORY_RETENTION: 0 }).purgeOld({ isStopping: () => false })
    expect(await count('session_history')).toBe(1)
  })

  it('keeps the old records of a session whose end is not read yet, and summarizes them with it', async () => {
    const session = sessionAt(1_000)
    await record(sessionCreated(session, { customSessionId: 'daily' }))
    await served(async () => void (await isRead()))
    await database.query(`UPDATE session_record SET stored_at = clock_timestamp() - interval '2 days'`)
    await record(sessionDestroyed(session, 'automaticStop', 9_000))
    await historyWith().purgeOld({ isStopping: () => false })
    await served(async (history) => {
      await isRead()
      expect(await history.get('daily_1000')).toMatchObject({ customSessionId: 'daily' })
    })
  })

  it('reads a page of 10,000 sessions by an index, and deletes by another one', async () => {
    await database.query(
      `INSERT INTO session_history SELECT 'ses_' || n, 'ses' || n % 10, '', n, n, 1,
         CASE n WHEN 7 THEN 'nodeCrashed' ELSE 'automaticStop' END, NULL, NULL, 'node' || n / 1000, 1, 1, 0, '{"users":{},"recordings":{}}' FROM generate_series(1, $1::int) n`,
      [ROWS],
    )
    await database.query('ANALYZE session_history')
    const plan = async (sql: string): Promise<string> => JSON.stringify(await database.query(`EXPLAIN ${sql}`))
    const page = 'ORDER BY destroyed_at DESC, unique_session_id DESC LIMIT 101'
    for (const where of ['true', `(destroyed_at, unique_session_id) < (5000, 'a')`, `session_id = 'ses7'`])
      expect(await plan(`SELECT * FROM session_history WHERE ${where} ${page}`)).not.toMatch(/Seq Scan|Sort/)
    for (const [where, index] of [
      [`reason = 'nodeCrashed'`, 'session_history_reason'],
      [`media_node_id = 'node0'`, 'session_history_node'],
    ])
      expect(await plan(`SELECT * FROM session_history WHERE ${where} ${page}`)).toContain(index)
    expect(
      await plan(
        `SELECT 1 FROM session_history WHERE stored_at < now() - interval '1 day' ORDER BY stored_at LIMIT 1000`,
      ),
    ).toContain('session_history_age')
  })
})
