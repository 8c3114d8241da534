import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { untilLocked } from '../../app/fixtures/lock-waits.js'
import { type MasterDatabase, openMasterDatabase } from '../../app/fixtures/master-database.js'
import { sessionDestroyed, signalSent } from '../event-drafts.js'
import { EventLog } from '../event-log.js'
import { DeadLetterRepository } from './dead-letter.repository.js'
import { WebhookQueueRepository } from './webhook-queue.repository.js'
import { insertSession } from '../../sessions/fixtures/rows.js'

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let queue: WebhookQueueRepository
let letters: DeadLetterRepository
let events: EventLog

beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  queue = new WebhookQueueRepository(dataSource)
  letters = new DeadLetterRepository(dataSource, {} as unknown as MasterConfig)
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
const claim = (limit = 10, heads: 'oldest' | 'all' = 'oldest') => queue.claim(heads, limit, 60_000)
const age = (id: string, seconds: number) =>
  database.query(`UPDATE outbox SET queued_at = queued_at - $2 * interval '1 second' WHERE id = $1`, [id, seconds])

it('an event waits for the first attempt of the event that it follows', async () => {
  const crash = await record('cluster')
  const end = await record('room', crash)
  const [first, ...none] = await claim()
  expect([first?.id, none]).toEqual([crash, []])
  expect(await claim()).toEqual([])
  await queue.failed(first!, 'refused', 60_000, 3_600)
  const [second] = await claim()
  expect(second?.id).toBe(end)
  await queue.delivered(second!)
  await queue.delivered(first!)
})

it('no later event of the session overtakes an event that waits for another one', async () => {
  const crash = await record('cluster')
  const [held] = await claim()
  const end = await record('room', crash)
  await record('room')
  expect(await claim()).toEqual([])
  await queue.delivered(held!)
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
    await queue.delivered(event!)
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
  expect((await claim()).map(({ id }) => id)).toEqual([first])
  expect(await claim()).toEqual([])
  expect((await claim(10, 'all')).map(({ id }) => id)).toEqual([end])
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
  const [next, ...others] = await queue.deliveredAndClaimNext(current!, 60_000)
  expect([next?.id, others]).toEqual([older, []])
  // The last one waits for the event of the cluster.
  expect(await queue.deliveredAndClaimNext(next!, 60_000)).toEqual([])
  expect((await database.query('SELECT id FROM outbox ORDER BY position')).map(({ id }) => id)).toEqual([crash, last])
})

it('deliveries of one moment are stored in one transaction, and each claims the next events of its session', async () => {
  await database.query('DELETE FROM outbox')
  const ids = async (session: string, count: number): Promise<string[]> => {
    const recorded: string[] = []
    for (let nth = 0; nth < count; nth++) recorded.push(await record(session))
    return recorded
  }
  const [red, blue, green] = [await ids('red', 12), await ids('blue', 2), await ids('green', 4)]
  await record('yellow')
  await database.query(`UPDATE outbox SET next_attempt_at = clock_timestamp() + interval '1 hour' WHERE id = $1`, [
    green[2],
  ])
  const [first, second, third, fourth] = await claim()
  const next = await Promise.all([
    queue.deliveredAndClaimNext(first!, 60_000),
    queue.deliveredAndClaimNext(second!, 60_000),
    queue.deliveredAndClaimNext(third!, 60_000),
    queue.delivered(fourth!),
  ])
  const claimed = next.flatMap((found) => found?.map(({ id }) => id) ?? [])
  const [{ writers } = {}] = await database.query(
    'SELECT count(DISTINCT xmin::text) AS writers FROM outbox WHERE id = ANY($1)',
    [claimed],
  )
  expect(writers).toBe(1)
  expect(next.map((found) => found?.map(({ id }) => id))).toEqual([
    red.slice(1, 9),
    blue.slice(1),
    green.slice(1, 2),
    undefined,
  ])
  expect(await claim()).toEqual([])
  await queue.release(next[0])
  expect((await claim()).map(({ id }) => id)).toEqual([red[1]])
})

it('a master that is late changes nothing of events that another master has claimed', async () => {
  await database.query('DELETE FROM outbox')
  const [first, second] = [await record('red'), await record('blue')]
  const late = await queue.claim('oldest', 10, 0)
  const current = await claim()
  expect(current.map(({ id }) => id)).toEqual([first, second])
  await queue.release(late)
  expect(await queue.failed(late[0]!, 'refused', 0, 0)).toBe(false)
  expect(await claim()).toEqual([])
  expect(await database.query('SELECT DISTINCT attempts, dead_at FROM outbox')).toEqual([
    { attempts: 0, dead_at: null },
  ])
  await queue.release(current)
  expect((await claim()).map(({ id }) => id)).toEqual([first, second])
})

it('a master that is late claims no next events of a session that another master posts', async () => {
  await database.query('DELETE FROM outbox')
  const ids = [await record('room'), await record('room'), await record('room')]
  const [late] = await queue.claim('oldest', 10, 0)
  const [current] = await claim()
  expect([late?.id, current?.id]).toEqual([ids[0], ids[0]])
  expect(await queue.deliveredAndClaimNext(late!, 60_000)).toEqual([])
  const next = await queue.deliveredAndClaimNext(current!, 60_000)
  expect(next.map(({ id }) => id)).toEqual(ids.slice(1))
  await database.query('DELETE FROM outbox')
})

it('the delivery of an event claims none of a session that another master claims at the same moment', async () => {
  await database.query('DELETE FROM outbox')
  const [delivered, claimed, last] = [await record('room'), await record('room'), await record('room')]
  const [event] = await claim()
  const other = dataSource.createQueryRunner()
  await other.startTransaction()
  try {
    await other.query(`UPDATE outbox SET next_attempt_at = clock_timestamp() + interval '1 minute' WHERE id = $1`, [
      claimed,
    ])
    const next = queue.deliveredAndClaimNext(event!, 60_000)
    await untilLocked('the delivery waits for the claim', database)
    await other.commitTransaction()
    expect([event?.id, await next]).toEqual([delivered, []])
  } finally {
    await other.release()
  }
  const due = await database.query('SELECT id FROM outbox WHERE next_attempt_at <= clock_timestamp()')
  expect(due).toEqual([{ id: last }])
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
  expect(await letters.replay('evt_7')).toBe(1)
  expect(await letters.purge({ olderThanDays: 3 })).toBe(0)
  expect(await letters.purge({ id: 'evt_8' })).toBe(1)
  expect(await letters.replay()).toBe(20_000)
  expect([await queue.pending(30_000), await queue.pending(1_000), await queue.dead()]).toEqual([20_001, 1_000, 0])
  await database.query(`UPDATE outbox SET dead_at = clock_timestamp() - interval '2 days'`)
  expect(await letters.purge({ olderThanDays: 1 })).toBe(20_001)
  expect([await queue.pending(30_000), await queue.dead()]).toEqual([0, 0])
})

it('a deletion of dead letters leaves one that is being replayed', async () => {
  await database.query('DELETE FROM outbox')
  const [replayed] = [await record('room'), await record('room')]
  await database.query(`UPDATE outbox SET dead_at = clock_timestamp() - interval '1 day'`)
  const holder = dataSource.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query('UPDATE outbox SET dead_at = NULL WHERE id = $1', [replayed])
    const purged = letters.purge()
    await untilLocked('the deletion waits for the replay', database)
    await holder.commitTransaction()
    expect(await purged).toBe(1)
  } finally {
    await holder.release()
  }
  expect(await database.query('SELECT id FROM outbox')).toEqual([{ id: replayed }])
})
