import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../platform/config/configuration.module.js'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { sessionDestroyed, signalSent } from './event-drafts.js'
import { EventLog } from './event-log.js'
import { OutboxRepository } from './outbox.repository.js'
import { insertSession } from '../sessions/fixtures/rows.js'

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let outbox: OutboxRepository
let events: EventLog

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  outbox = new OutboxRepository(dataSource)
  events = new EventLog(dataSource, {
    SERVICE_CDR: false,
    SERVICE_WEBHOOK: true,
    SERVICE_WEBHOOK_EVENTS: ['sessionDestroyed', 'signalSent'],
  } as unknown as MasterConfig)
})
afterAll(() => close())

const record = async (session: string, after?: string): Promise<string> => {
  const draft = sessionDestroyed({ id: session, uniqueSessionId: session, createdAt: 0 }, 'nodeCrashed', 1)
  const [id = ''] = await events.transaction((_, write) => write(draft), { after })
  return id
}
const claim = (limit = 10, heads: 'oldest' | 'all' = 'oldest') => outbox.claim(heads, limit, 60_000)
const age = (id: string, seconds: number) =>
  database.query(`UPDATE outbox SET queued_at = queued_at - $2 * interval '1 second' WHERE id = $1`, [id, seconds])

it('an event waits for the first attempt of the event that it follows', async () => {
  const crash = await record('cluster')
  const end = await record('room', crash)
  const [first, ...none] = await claim()
  expect([first?.id, none]).toEqual([crash, []])
  expect(await claim()).toEqual([])
  await outbox.failed(first?.position ?? 0, 'refused', 60_000, 3_600)
  const [second] = await claim()
  expect(second?.id).toBe(end)
  await outbox.delivered(second?.position ?? 0)
  await outbox.delivered(first?.position ?? 0)
})

it('no later event of the session overtakes an event that waits for another one', async () => {
  const crash = await record('cluster')
  const [held] = await claim()
  const end = await record('room', crash)
  await record('room')
  expect(await claim()).toEqual([])
  await outbox.delivered(held?.position ?? 0)
  const [next, ...none] = await claim()
  expect([next?.id, none]).toEqual([end, []])
  await database.query('DELETE FROM outbox')
})

it('an event waits neither for one that does not exist any more, nor beyond the time limit', async () => {
  await record('room', 'evt_gone')
  expect(await claim()).toHaveLength(1)
  const stuck = await record('cluster')
  const crash = await record('cluster')
  const end = await record('other', crash)
  expect((await claim()).map(({ id }) => id)).toEqual([stuck])
  expect(await claim()).toEqual([])
  await age(crash, 60)
  expect((await claim()).map(({ id }) => id)).toEqual([end])
})

it('a master whose clock is behind records no earlier time than the last of the session, even after that was delivered', async () => {
  await database.query('DELETE FROM outbox')
  await insertSession(database, 'shared')
  const ids = { id: 'shared', uniqueSessionId: 'shared_1', createdAt: 0 }
  const times: number[] = []
  for (const now of [955, 954, 960, 950]) {
    await events.transaction((_, write) => write(signalSent(ids, { from: null, to: [], type: '', data: '' }, now)))
    const [event] = await claim()
    times.push((JSON.parse(event?.payload ?? '{}') as { timestamp: number }).timestamp)
    await outbox.delivered(event?.position ?? 0)
  }
  expect(times).toEqual([955, 955, 960, 960])
})

it('a claim has no more events than it asks for, also when Postgres expects a single one', async () => {
  await database.query('DELETE FROM outbox')
  await record('first')
  await database.query('VACUUM ANALYZE outbox')
  for (let count = 0; count < 20; count++) await record(`room${count}`)
  expect(await claim(3)).toHaveLength(3)
  expect(await claim(3, 'all')).toHaveLength(3)
})

it('an event behind many of another session is not among the oldest, but a search of all finds it', async () => {
  await database.query('DELETE FROM outbox')
  const first = await record('crowded')
  await database.query(
    `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at)
     SELECT 'evt_' || g, consumer, session_key, name, payload, created_at FROM outbox, generate_series(1, 250) g`,
  )
  const end = await record('room')
  expect((await claim()).map(({ id, hasNext }) => [id, hasNext])).toEqual([[first, true]])
  expect(await claim()).toEqual([])
  expect((await claim(10, 'all')).map(({ id, hasNext }) => [id, hasNext])).toEqual([[end, false]])
  expect(await claim(10, 'all')).toEqual([])
})

it('the delivery of an event claims the first of its session that waits, if it is due', async () => {
  await database.query('DELETE FROM outbox')
  const [older, newer] = [await record('room'), await record('room')]
  const crash = await record('cluster')
  const last = await record('room', crash)
  const [replayed] = await claim(1)
  await database.query('UPDATE outbox SET dead_at = clock_timestamp() WHERE id = $1', [older])
  const [current] = await claim(1)
  expect([replayed?.id, current?.id]).toEqual([older, newer])
  await database.query('UPDATE outbox SET dead_at = NULL, next_attempt_at = clock_timestamp() WHERE id = $1', [older])
  const next = await outbox.deliveredAndClaimNext(current!, 60_000)
  expect([next?.id, next?.hasNext]).toEqual([older, true])
  // The last one waits for the event of the cluster.
  expect(await outbox.deliveredAndClaimNext(next!, 60_000)).toBeUndefined()
  expect((await database.query('SELECT id FROM outbox ORDER BY position')).map(({ id }) => id)).toEqual([crash, last])
})

it('replays and deletes more dead letters than one statement changes, also with outdated statistics', async () => {
  await database.query('DELETE FROM outbox')
  const filling = dataSource.createQueryRunner()
  await filling.startTransaction()
  await filling.query(
    `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at, attempts, dead_at)
     SELECT 'evt_' || g, 'webhook', 'room', 'sessionDestroyed', '{}', 1, 5, clock_timestamp() - interval '2 days'
     FROM generate_series(1, 20002) g`,
  )
  // By these statistics the table is empty: Postgres then runs some subqueries once for each row.
  await database.query('ANALYZE outbox')
  await filling.commitTransaction()
  await filling.release()
  expect(await outbox.replay('evt_7')).toBe(1)
  expect(await outbox.purge({ olderThanDays: 3 })).toBe(0)
  expect(await outbox.purge({ id: 'evt_8' })).toBe(1)
  expect(await outbox.replay()).toBe(20_000)
  expect(await outbox.counts()).toEqual({ pending: 20_001, dead: 0 })
  await database.query(`UPDATE outbox SET dead_at = clock_timestamp() - interval '2 days'`)
  expect(await outbox.purge({ olderThanDays: 1 })).toBe(20_001)
  expect(await outbox.counts()).toEqual({ pending: 0, dead: 0 })
})
