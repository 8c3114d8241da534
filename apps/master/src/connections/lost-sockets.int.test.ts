import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { untilLocked } from '../app/fixtures/lock-waits.js'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { PresenceRepository } from './presence.repository.js'
import { ResumeRepository } from './resume.repository.js'

const IDS = Array.from({ length: 5 }, (_, nth) => `con_${nth}`)

let database: TestDatabase
let source: DataSource
let close: MasterDatabase['close']
let presence: PresenceRepository
let resumptions: ResumeRepository

beforeAll(async () => {
  ;({ database, dataSource: source, close } = await openMasterDatabase())
  presence = new PresenceRepository(source)
  resumptions = new ResumeRepository(source)
})
afterAll(() => close())
/** The resume key of a participant has the digest `key of <id>`. */
beforeEach(async () => {
  await database.query('DELETE FROM session')
  for (const session of ['red', 'blue']) await insertSession(database, session)
  await insertParticipants(database, 'red', ...IDS.slice(0, 3))
  await insertParticipants(database, 'blue', ...IDS.slice(3))
  await database.query(`UPDATE connection SET master_id = 'former', resume_hash = ('key of ' || id)::bytea`)
})

const resume = (id: string, key = `key of ${id}`) => resumptions.resume(id, Buffer.from(key), 'mine')
const markLost = (id: string, ms: number, lastSignalId?: number) => presence.markLost(id, 'former', ms, lastSignalId)

/** Deadlines by the ids of the participants, s from now. */
async function deadlines(): Promise<Record<string, number | null>> {
  const found = await database.query(
    `SELECT id, round(extract(epoch FROM evict_at - clock_timestamp()))::float8 AS left FROM connection ORDER BY id`,
  )
  return Object.fromEntries(found.map(({ id, left }): [string, number | null] => [String(id), left as number | null]))
}

/** The number of transactions that wrote the rows last. */
async function transactions(): Promise<number> {
  const [row] = await database.query('SELECT count(DISTINCT xmin::text)::integer AS number FROM connection')
  return Number(row?.number)
}

/** While `change` waits for the lock of the last row, another transaction can lock the first one. */
async function whileLocked(change: () => Promise<unknown>): Promise<void> {
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`SELECT 1 FROM connection WHERE id = 'con_4' FOR UPDATE`)
    const changed = change()
    await untilLocked('the change waits for the lock', database)
    await holder.query(`SELECT 1 FROM connection WHERE id = 'con_0' FOR UPDATE NOWAIT`)
    await holder.commitTransaction()
    await changed
  } finally {
    if (holder.isTransactionActive) await holder.rollbackTransaction()
    await holder.release()
  }
}

describe('a crowd that resumes', () => {
  it('is moved in one transaction, each participant by its own key', async () => {
    const resumed = await Promise.all(IDS.map((id) => resume(id)))
    expect(resumed.map((one) => [one?.connectionId, one?.roomId])).toEqual(
      IDS.map((id, nth) => [id, nth < 3 ? 'red_1' : 'blue_1']),
    )
    expect(await transactions()).toBe(1)
    expect(await database.query('SELECT DISTINCT master_id FROM connection')).toEqual([{ master_id: 'mine' }])
  })

  it('does not help the ones with wrong keys, nor those that were removed', async () => {
    await database.query(`DELETE FROM connection WHERE id = 'con_1'`)
    await database.query(`UPDATE connection SET status = 'pending' WHERE id = 'con_2'`)
    const resumed = await Promise.all(
      [
        resume('con_0'),
        resume('con_0', 'key of con_3'),
        resume('con_1'),
        resume('con_2'),
        resume('con_3', 'key of con_4'),
        resume('zero \0'),
      ].map((call) => call.catch(() => 'refused')),
    )
    expect(resumed.map((one) => (typeof one === 'object' ? one.connectionId : one))).toEqual([
      'con_0',
      undefined,
      undefined,
      undefined,
      undefined,
      'refused',
    ])
    expect(await database.query(`SELECT id FROM connection WHERE master_id = 'mine'`)).toEqual([{ id: 'con_0' }])
  })

  it('gets the newest signal of the former master, only when that had noticed the loss', async () => {
    await markLost('con_0', 1_000, 7)
    await database.query(`UPDATE connection SET last_signal_id = 5 WHERE id = 'con_1'`)
    const resumed = await Promise.all([resume('con_0'), resume('con_1'), resume('con_0')])
    expect(resumed.map((one) => one?.lastSignalId)).toEqual([7, null, 7])
    expect(await deadlines()).toMatchObject({ con_0: null })
  })

  it('waits for a participant that is being changed, without a deadlock', async () => {
    let resumed: Awaited<ReturnType<typeof resume>>[] = []
    await whileLocked(async () => (resumed = await Promise.all(IDS.map((id) => resume(id)))))
    expect(resumed.map((one) => one?.connectionId)).toEqual(IDS)
  })
})

describe('a crowd that loses its sockets', () => {
  it('gets its deadlines in one transaction, each participant its own', async () => {
    await Promise.all(IDS.map((id, nth) => markLost(id, (nth + 1) * 10_000, nth === 0 ? undefined : nth)))
    expect(await deadlines()).toEqual({ con_0: 10, con_1: 20, con_2: 30, con_3: 40, con_4: 50 })
    expect(await transactions()).toBe(1)
    const stored = await database.query('SELECT last_signal_id AS id FROM connection ORDER BY connection.id')
    expect(stored.map(({ id }) => id)).toEqual([null, 1, 2, 3, 4])
  })

  it('has no deadline when it speaks again, and none at a master that does not hold it', async () => {
    await Promise.all([
      markLost('con_0', 10_000, 9),
      presence.markFound('con_0', 'former'),
      presence.markFound('con_1', 'former'),
      markLost('con_1', 20_000),
      presence.markLost('con_2', 'other', 30_000),
    ])
    expect(await deadlines()).toMatchObject({ con_0: null, con_1: 20, con_2: null })
  })

  it('waits for a participant that is being changed, without a deadlock', async () => {
    await whileLocked(() => Promise.all(IDS.map((id) => markLost(id, 10_000))))
    expect(Object.values(await deadlines())).toEqual([10, 10, 10, 10, 10])
  })
})

it('a crowd is changed apart from the participants that stay locked', async () => {
  const holder = source.createQueryRunner()
  await holder.startTransaction()
  try {
    await holder.query(`SELECT 1 FROM connection WHERE id IN ('con_1', 'con_4') FOR UPDATE`)
    const outcomes = await Promise.allSettled([
      ...['con_0', 'con_1'].map((id) => markLost(id, 10_000)),
      ...['con_3', 'con_4'].map((id) => resume(id)),
    ])
    expect(outcomes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
  } finally {
    await holder.rollbackTransaction()
    await holder.release()
  }
  const changed = await database.query(
    `SELECT id FROM connection WHERE evict_at IS NOT NULL OR master_id = 'mine' ORDER BY id`,
  )
  expect(changed).toEqual([{ id: 'con_0' }, { id: 'con_3' }])
})
