import { createTestDatabase, type TestDatabase, until } from '@session-service/testing'
import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals'
import { DataSource } from 'typeorm'
import { execute, firstRow } from '../database/sql.js'
import { LeaderLease } from './leader-lease.js'

const LEASE_MS = 1_500
let database: TestDatabase
const sources: DataSource[] = []

beforeAll(async () => {
  database = await createTestDatabase()
})
afterEach(async () => {
  await Promise.all(sources.splice(0).map((source) => source.destroy()))
})
afterAll(() => database.drop())

async function master(leaseMs = 60_000): Promise<{ lock: LeaderLease; source: DataSource }> {
  const source = new DataSource({ type: 'postgres', url: database.url, poolErrorHandler: () => undefined })
  sources.push(await source.initialize())
  return { lock: new LeaderLease(source, leaseMs), source }
}

describe('the leader lease', () => {
  it('belongs to one master until it releases it', async () => {
    const [one, two] = [await master(), await master()]
    expect(await one.lock.acquire()).toBe(true)
    expect(await two.lock.acquire()).toBe(false)
    expect(await one.lock.acquire()).toBe(true)
    await one.lock.release()
    expect(await two.lock.acquire()).toBe(true)
    expect(await one.lock.acquire()).toBe(false)
    await two.lock.release()
  })

  it('stays with a master that is busy for longer than its term', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    expect(await one.lock.acquire()).toBe(true)
    await execute(two.source, 'SELECT pg_sleep($1)', [(3 * LEASE_MS) / 1_000])
    expect(await two.lock.acquire()).toBe(false)
    await expect(one.source.transaction((manager) => one.lock.assertHeld(manager))).resolves.toBeUndefined()
    await one.lock.release()
  })

  it('passes on from a frozen master, which then cannot act as the leader', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    expect(await one.lock.acquire()).toBe(true)
    // A frozen master runs no timers; only its database connection stays open.
    await one.lock.stopRenewing()
    await until('the lease is over', () => two.lock.acquire())
    await expect(one.source.transaction((manager) => one.lock.assertHeld(manager))).rejects.toThrow(
      'another master has become the leader',
    )
    await expect(two.source.transaction((manager) => two.lock.assertHeld(manager))).resolves.toBeUndefined()
    await expect(one.lock.acquire()).rejects.toThrow()
    expect(await one.lock.acquire()).toBe(false)
    await two.lock.release()
  })

  it('is proved by the queries of the leader, which use its connection', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    const backendOf = (lock: LeaderLease) =>
      lock.query((queryable) => firstRow<{ pid: number }>(queryable, 'SELECT pg_backend_pid() AS pid'))
    expect(await one.lock.acquire()).toBe(true)
    await one.lock.stopRenewing()
    const holder = await firstRow<{ pid: number }>(
      two.source,
      `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND granted
         AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    )
    expect(holder).toBeDefined()
    for (let queries = 0; queries < 6; queries += 1) {
      expect(await backendOf(one.lock)).toEqual(holder)
      await execute(two.source, 'SELECT pg_sleep($1)', [LEASE_MS / 4_000])
    }
    expect(await two.lock.acquire()).toBe(false)
    expect(await backendOf(two.lock)).not.toEqual(holder)
    await one.lock.release()
  })

  it.each([
    ['a query', 'SELECT 1 / 0'],
    ['the connection', 'SELECT pg_terminate_backend(pg_backend_pid())'],
  ])('ends when %s of the leader fails, and the former leader can query and lead again', async (_what, statement) => {
    const [one, two] = [await master(), await master()]
    expect(await one.lock.acquire()).toBe(true)
    await expect(one.lock.query((queryable) => execute(queryable, statement))).rejects.toThrow()
    expect(await two.lock.acquire()).toBe(true)
    expect(await one.lock.acquire()).toBe(false)
    expect(await one.lock.query((queryable) => firstRow(queryable, 'SELECT 1 AS n'))).toEqual({ n: 1 })
    await two.lock.release()
    expect(await one.lock.acquire()).toBe(true)
    await one.lock.release()
  })

  it('keeps the next leader waiting until a transaction of the former one has ended', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    expect(await one.lock.acquire()).toBe(true)
    const done: string[] = []
    const { promise: started, resolve: start } = Promise.withResolvers<void>()
    const first = one.source.transaction(async (manager) => {
      await one.lock.assertHeld(manager)
      // A frozen master runs no timers; only its database connection stays open.
      await one.lock.stopRenewing()
      start()
      await until('the lease is over', () => two.lock.acquire())
      // Reached only if the database has not ended the transaction of the frozen master.
      await execute(manager, 'SELECT 1')
      done.push('one')
    })
    // A failure before the transaction starts rejects here at once.
    await Promise.race([started, first])
    await until('the lease has passed on', () => two.lock.acquire())
    await Promise.allSettled([
      first,
      two.source.transaction(async (manager) => {
        await two.lock.assertHeld(manager)
        done.push('two')
      }),
    ])
    expect(done.at(-1)).toBe('two')
    await two.lock.release()
  })
})
