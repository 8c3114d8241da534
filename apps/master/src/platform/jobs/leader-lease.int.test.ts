import { createTestDatabase, type TestDatabase, until } from '@session-service/testing'
import { afterEach, beforeAll, afterAll, describe, expect, test } from '@jest/globals'
import { DataSource } from 'typeorm'
import { DutyLock } from './leader-lease.js'

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

async function master(leaseMs = 60_000): Promise<{ lock: DutyLock; source: DataSource }> {
  const source = new DataSource({ type: 'postgres', url: database.url, poolErrorHandler: () => undefined })
  sources.push(await source.initialize())
  return { lock: new DutyLock(source, leaseMs), source }
}

/** Frozen: nothing of it runs, also no timers. Only its connection lives on. */
async function freeze(lock: DutyLock): Promise<void> {
  clearInterval(Reflect.get(lock, 'renewal') as NodeJS.Timeout)
  await Reflect.get(lock, 'asked')
}

describe('the duties', () => {
  test("are one master's until it gives them up", async () => {
    const [one, two] = [await master(), await master()]
    expect(await one.lock.isOurs()).toBe(true)
    expect(await two.lock.isOurs()).toBe(false)
    expect(await one.lock.isOurs()).toBe(true)
    await one.lock.giveUp()
    expect(await two.lock.isOurs()).toBe(true)
    expect(await one.lock.isOurs()).toBe(false)
    await two.lock.giveUp()
  })

  test('stay with a master that is busy for longer than the lease', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    expect(await one.lock.isOurs()).toBe(true)
    await two.source.query('SELECT pg_sleep($1)', [(3 * LEASE_MS) / 1_000])
    expect(await two.lock.isOurs()).toBe(false)
    await expect(one.source.transaction((manager) => one.lock.assertOurs(manager))).resolves.toBeUndefined()
    await one.lock.giveUp()
  })

  test('G9: pass from a master that is frozen, which then cannot act any more', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    expect(await one.lock.isOurs()).toBe(true)
    await freeze(one.lock)
    await until('the lease is over', () => two.lock.isOurs())
    await expect(one.source.transaction((manager) => one.lock.assertOurs(manager))).rejects.toThrow(
      'another master has taken over the duties',
    )
    await expect(two.source.transaction((manager) => two.lock.assertOurs(manager))).resolves.toBeUndefined()
    await expect(one.lock.isOurs()).rejects.toThrow()
    expect(await one.lock.isOurs()).toBe(false)
    await two.lock.giveUp()
  })

  test('cannot be acted on by two: the next one waits until a transaction has ended', async () => {
    const one = await master(LEASE_MS)
    const two = await master()
    expect(await one.lock.isOurs()).toBe(true)
    const done: string[] = []
    const { promise: hasBegun, resolve: begin } = Promise.withResolvers<void>()
    const first = one.source.transaction(async (manager) => {
      await one.lock.assertOurs(manager)
      await freeze(one.lock)
      begin()
      await until('the lease is over', () => two.lock.isOurs())
      // Only if the database has not ended the transaction of the one that is frozen.
      await manager.query('SELECT 1')
      done.push('one')
    })
    // What fails before it begins is to be seen, and not waited for.
    await Promise.race([hasBegun, first])
    await until('the duties have passed', () => two.lock.isOurs())
    await Promise.allSettled([
      first,
      two.source.transaction(async (manager) => {
        await two.lock.assertOurs(manager)
        done.push('two')
      }),
    ])
    expect(done.at(-1)).toBe('two')
    await two.lock.giveUp()
  })
})
