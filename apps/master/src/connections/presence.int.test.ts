import type { TestDatabase } from '@session-service/testing'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { DataSource } from 'typeorm'
import { type MasterDatabase, openMasterDatabase } from '../app/fixtures/master-database.js'
import { insertParticipants, insertSession } from '../sessions/fixtures/rows.js'
import { PresenceRepository } from './presence.repository.js'

const WINDOW_MS = 12_000

let database: TestDatabase
let dataSource: DataSource
let close: MasterDatabase['close']
let presence: PresenceRepository
beforeAll(async () => {
  ;({ database, dataSource, close } = await openMasterDatabase())
  presence = new PresenceRepository(dataSource)
})
afterAll(() => close())
beforeEach(async () => {
  await database.query('DELETE FROM session')
  await insertSession(database, 'ses')
  await insertParticipants(database, 'ses', 'alice')
  await database.query("UPDATE connection SET status = 'active', master_id = 'one'")
})

/** Moves the deadline as a database clock set back by `seconds` would. */
const deadlineIn = (seconds: number) =>
  database.query(`UPDATE connection SET evict_at = clock_timestamp() + ${seconds} * interval '1 second'`)
const secondsLeft = async (): Promise<number> => {
  const [row] = await database.query(
    'SELECT extract(epoch FROM evict_at - clock_timestamp())::float8 AS left FROM connection',
  )
  return Number(row?.left)
}

describe('the deadline of a lost participant, after the clock of the database was set back by an hour', () => {
  it('is at most the usual window, by the master that lost its socket', async () => {
    await deadlineIn(3_600)
    await presence.alignDeadlines('one', [], [], WINDOW_MS)
    expect(await secondsLeft()).toBeLessThanOrEqual(WINDOW_MS / 1_000)
    expect(await secondsLeft()).toBeGreaterThan(0)
  })

  it('is at most the usual window, also when that master has died', async () => {
    await deadlineIn(3_600)
    await presence.markLostOfDeadMasters(WINDOW_MS)
    expect(await secondsLeft()).toBeLessThanOrEqual(WINDOW_MS / 1_000)
    expect(await secondsLeft()).toBeGreaterThan(0)
  })
})

it('a deadline within the window stays as it is', async () => {
  await deadlineIn(5)
  await presence.alignDeadlines('one', [], [], WINDOW_MS)
  await presence.markLostOfDeadMasters(WINDOW_MS)
  expect(await secondsLeft()).toBeLessThanOrEqual(5)
})

describe('the time without a master', () => {
  const masterAliveAgo = (seconds: number) =>
    database.query(
      `INSERT INTO master (id, alive_at, uri, nodes_heard)
       VALUES ('one', clock_timestamp() - ${seconds} * interval '1 second', 'http://one', 1)
       ON CONFLICT (id) DO UPDATE SET alive_at = excluded.alive_at`,
    )

  it('does not count for a participant whose deadline passed after its master had died', async () => {
    await masterAliveAgo(60)
    await deadlineIn(-50)
    await presence.clearDeadlinesOfDeadMasters(5)
    expect(await presence.overdue()).toEqual([])
    await database.query('DELETE FROM master')
    await presence.markLostOfDeadMasters(WINDOW_MS)
    expect(await secondsLeft()).toBeGreaterThan(10)
  })

  it('does not save a participant whose deadline had passed before its master died', async () => {
    await masterAliveAgo(60)
    await deadlineIn(-61)
    await presence.clearDeadlinesOfDeadMasters(5)
    expect(await presence.overdue()).toHaveLength(1)
  })

  it('leaves the deadlines of participants of live masters as they are', async () => {
    await masterAliveAgo(1)
    await deadlineIn(-0.5)
    await presence.clearDeadlinesOfDeadMasters(5)
    expect(await presence.overdue()).toHaveLength(1)
  })
})
