import {
  freePorts,
  handlesOf,
  heapInUse,
  holdingsOf,
  inspectable,
  type ProcessHandles,
  startStack,
  type Stack,
  until,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { z } from 'zod'

const RESTARTS = 20
const TIMEOUT_MS = 60_000
const MIB = 1024 * 1024
let stack: Stack
let inspector: number

beforeAll(async () => {
  inspector = (await freePorts(1))[0] ?? 0
  stack = await startStack({ masterEnv: inspectable(inspector) })
})
afterAll(() => stack.stop())

const config = z.object({ SERVICE_SESSIONS_GARBAGE_INTERVAL: z.number() })
const interval = async (): Promise<number> => {
  const answer = await stack.rest('GET', '/config').catch(() => undefined)
  return answer?.status === 200 ? config.parse(answer.body).SERVICE_SESSIONS_GARBAGE_INTERVAL : 0
}

async function restart(value: number): Promise<void> {
  const body = { SERVICE_SESSIONS_GARBAGE_INTERVAL: value }
  const isAccepted = async () => (await stack.rest('POST', '/restart', body).catch(() => undefined))?.status === 200
  await until(`restart ${value} is accepted`, isAccepted, TIMEOUT_MS)
  await until(`restart ${value} is in force`, async () => (await interval()) === value, TIMEOUT_MS)
}

/** The number of complete rounds of create, join and leave. */
let completed = 0

/** Repeats these rounds while `isActive`; a restart may interrupt one. */
async function load(isActive: () => boolean): Promise<void> {
  while (isActive()) {
    try {
      const { id } = await stack.api.createSession()
      const client = await stack.join(id)
      await client.request('leave', {})
      await client.close()
      completed++
    } catch {
      await until('the master answers', async () => (await interval()) > 0, TIMEOUT_MS)
    }
  }
}

async function underLoad(work: () => Promise<void>): Promise<void> {
  let isActive = true
  const lanes = [load(() => isActive), load(() => isActive)]
  await work().finally(() => (isActive = false))
  await Promise.all(lanes)
}

interface Holdings extends ProcessHandles {
  heap: number
  openFiles: number
  databaseClients: number
}

async function holdings(): Promise<Holdings> {
  const master = stack.masters[0]
  if (!master) throw new Error('the stack has no master')
  const clients = await stack.postgres.query(
    `SELECT 1 FROM pg_stat_activity WHERE application_name = 'session-service-master' AND datname = current_database()`,
  )
  return {
    ...(await handlesOf(inspector)),
    heap: await heapInUse(inspector),
    openFiles: holdingsOf(master.pid).openFiles,
    databaseClients: clients.length,
  }
}

const grown = (before: Holdings, after: Holdings): string[] => {
  const kinds = Object.keys(after.resources)
  const pairs: [string, number, number, number][] = [
    ...kinds.map((kind): [string, number, number, number] => [
      kind,
      before.resources[kind] ?? 0,
      after.resources[kind] ?? 0,
      // The number of sockets of the pool and of clients varies; a leak of one per restart would add 20.
      RESTARTS / 2,
    ]),
    ['listeners', before.listeners, after.listeners, 0],
    ['openFiles', before.openFiles, after.openFiles, RESTARTS / 2],
    ['databaseClients', before.databaseClients, after.databaseClients, RESTARTS / 2],
    // A leaked instance is larger than one MiB.
    ['heap', before.heap, after.heap, (RESTARTS / 2) * MIB],
  ]
  return pairs.filter(([, was, is, may]) => is - was > may).map(([name, was, is]) => `${name}: ${was} → ${is}`)
}

describe(`${RESTARTS} restarts in a row under load`, () => {
  it('leak nothing, in the same process', async () => {
    const master = stack.masters[0]
    for (let value = 1; value <= 3; value++) await restart(value)
    const before = await holdings()
    await underLoad(async () => {
      for (let value = 1; value <= RESTARTS; value++) {
        const completedBefore = completed
        await restart(100 + value)
        await until(`rounds complete after restart ${value}`, () => completed > completedBefore, TIMEOUT_MS)
      }
    })
    expect([master?.running, stack.masters[0]?.pid]).toEqual([true, master?.pid])
    await until(
      'nothing has grown',
      async () => {
        const growth = grown(before, await holdings())
        if (growth.length > 0) lastGrowth = growth
        return growth.length === 0
      },
      30_000,
    ).catch((error: unknown) => {
      throw new Error(`grown: ${lastGrowth.join(', ')}`, { cause: error })
    })
    expect(await stack.postgres.query('SELECT 1 FROM master')).toHaveLength(1)
    expect(stack.journal.lines.filter((line) => line.includes('MaxListenersExceeded'))).toEqual([])
  }, 400_000)
})

let lastGrowth: string[] = []
