import { createTestDatabase, type TestDatabase, until } from '@session-service/testing'
import type { Bus } from '@session-service/messaging'
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals'
import { Module } from '@nestjs/common'
import { DiscoveryModule, DiscoveryService, NestFactory } from '@nestjs/core'
import { DataSource } from 'typeorm'
import type { MasterConfig } from '../config/configuration.module.js'
import type { ClusterMembership } from './cluster-membership.js'
import { Job } from './job.js'
import { LeaderLease } from './leader-lease.js'
import { Scheduler } from './scheduler.js'

class Jobs {
  readonly runs: string[] = []
  readonly #ends: (() => void)[] = []

  @Job({ name: 'purge', scope: 'leader', everyMs: 0, isSlow: true })
  async purge(): Promise<void> {
    this.runs.push('purge')
    await new Promise<void>((resolve) => this.#ends.push(resolve))
    this.runs.push('purged')
  }

  @Job({ name: 'evictions', scope: 'leader', everyMs: 0 })
  evict(): void {
    this.runs.push('evict')
  }

  endPurge(): void {
    this.#ends.shift()?.()
  }
}

@Module({ imports: [DiscoveryModule], providers: [Jobs] })
class JobsModule {}

let database: TestDatabase
let source: DataSource
beforeAll(async () => {
  database = await createTestDatabase()
  source = await new DataSource({ type: 'postgres', url: database.url }).initialize()
})
afterAll(async () => {
  await source?.destroy()
  await database?.drop()
})

let jobs: Jobs
let scheduler: Scheduler
let bus: { connected: boolean }
let passed: number
let close: () => Promise<void>
beforeEach(async () => {
  const app = await NestFactory.createApplicationContext(JobsModule, { logger: false })
  jobs = app.get(Jobs)
  bus = { connected: true }
  passed = 0
  const membership = {
    get hasQuorum() {
      passed += 1
      return true
    },
  } as ClusterMembership
  scheduler = new Scheduler(source, bus as Bus, membership, app.get(DiscoveryService), {} as MasterConfig)
  scheduler.onModuleInit()
  close = () => app.close()
})
afterEach(() => close())

/** One tick, until the run of the evictions has ended. */
async function tick(): Promise<void> {
  const before = evictions()
  await until('the jobs run', () => {
    scheduler.receive([], performance.now())
    return evictions() > before
  })
}
/** Two ticks at this time: the second one starts when the first one has ended. */
async function pass(at: number): Promise<void> {
  const before = passed
  await until('the scheduler has ticked', () => {
    scheduler.receive([], at)
    return passed >= before + 2
  })
}
const evictions = (): number => jobs.runs.filter((run) => run === 'evict').length

it('a slow job delays no other one, and runs again only after its end', async () => {
  for (let ticks = 0; ticks < 3; ticks += 1) await tick()
  expect(jobs.runs.filter((run) => run === 'purge')).toHaveLength(1)
  jobs.endPurge()
  await until('the slow job has ended', () => jobs.runs.includes('purged'))
  await tick()
  expect(jobs.runs.filter((run) => run === 'purge')).toHaveLength(2)
  jobs.endPurge()
  await scheduler.onModuleDestroy()
})

it('a shutdown waits for the end of a slow job, and starts none', async () => {
  await tick()
  let isDown = false
  const down = scheduler.onModuleDestroy().then(() => (isDown = true))
  const before = evictions()
  scheduler.receive([], performance.now())
  expect(isDown).toBe(false)
  jobs.endPurge()
  await down
  expect(jobs.runs.at(-1)).toBe('purged')
  expect(evictions()).toBe(before)
})

it('a leader without the bus keeps its lease for a short time, and then leaves it to another master', async () => {
  await tick()
  const other = new LeaderLease(source)
  bus.connected = false
  const lostAt = performance.now()
  await pass(lostAt + 3_000)
  expect(await other.acquire()).toBe(false)
  await pass(lostAt + 6_000)
  expect(await other.acquire()).toBe(true)
  bus.connected = true
  const before = evictions()
  await pass(lostAt + 7_000)
  expect(evictions()).toBe(before)
  await other.release()
  await tick()
  jobs.endPurge()
  await scheduler.onModuleDestroy()
})
