import { loopLagMs, type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { cpuSeconds } from '../figures/cpu.js'
import { interleave } from '../figures/interleave.js'
import { median, quantile } from '../figures/statistics.js'
import { Helper } from '../helper/helper.js'
import { insertSessions } from '../scale/insert-sessions.js'
import { READERS } from './api.js'

const SESSIONS = 5_000
const READERS_AT_ONCE = 150
const PLANS = { quick: { pairs: 3, seconds: 8 }, full: { pairs: 5, seconds: 20 } }
/** The limits for a session that is created meanwhile, and for the event loop of the master, ms. */
const LIMITS = { create: 300, loop: 50 }

interface Run {
  medianMs: number
  p99Ms: number
  loopMs: number
  lists: number
  cpuMsPerList: number
}

interface Sides {
  stack: Stack
  readers: Helper<typeof READERS>
}

/** Creates sessions one after another while 150 clients request the list of 5,000 sessions, and while none does. */
export const lists: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 0 })
    cleanUp.defer(() => stack.stop())
    const readers = await Helper.start(READERS, new URL('readers.js', import.meta.url))
    cleanUp.defer(() => readers.stop())
    await insertSessions(stack, SESSIONS)
    return await measure({ stack, readers }, options)
  },
}

async function measure(sides: Sides, { quick, log }: BenchmarkOptions): Promise<BenchmarkResult> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  await createWhile(sides, 2, 0)
  const logged = (run: Run, name: string): Run => {
    log(
      `${name}: ${run.lists} lists; a session is created in ${run.medianMs.toFixed(1)} ms, p99 ${run.p99Ms.toFixed(0)} ms`,
    )
    return run
  }
  const { ours, reference } = await interleave(pairs, {
    ours: async () => logged(await createWhile(sides, seconds, READERS_AT_ONCE), 'with lists'),
    reference: async () => logged(await createWhile(sides, seconds, 0), 'without   '),
  })
  const both = (of: (run: Run) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const worst = (of: (run: Run) => number): number => Math.max(...ours.map(of))
  const [p99, loop] = [worst(({ p99Ms }) => p99Ms), worst(({ loopMs }) => loopMs)]
  return {
    names: { ours: 'with lists', reference: 'without' },
    settings: { pairs, seconds, sessions: SESSIONS, readers: READERS_AT_ONCE },
    comparisons: [
      { figure: 'time to create a session, median, ms', ...both(({ medianMs }) => medianMs) },
      { figure: 'time to create a session, p99, ms', ...both(({ p99Ms }) => p99Ms) },
    ],
    notes: [
      `the worst p99 is ${p99.toFixed(0)} ms (limit ${LIMITS.create}: ${p99 <= LIMITS.create ? 'met' : 'missed'})`,
      `the longest iteration of the event loop is ${loop.toFixed(0)} ms (limit ${LIMITS.loop}: ${loop <= LIMITS.loop ? 'met' : 'missed'})`,
      `a list costs the master ${median(ours.map(({ cpuMsPerList }) => cpuMsPerList)).toFixed(1)} ms of CPU`,
    ],
  }
}

async function createWhile({ stack, readers }: Sides, seconds: number, count: number): Promise<Run> {
  const [master] = stack.masters
  if (!master) throw new Error('the stack has no master')
  const call = { url: stack.masterUrl, secret: stack.secret, readers: count, seconds }
  const before = cpuSeconds(master.pid)
  const state = { isOver: false }
  const reading = readers.call('read', call).finally(() => (state.isOver = true))
  const times: number[] = []
  const end = performance.now() + seconds * 1_000
  while (count === 0 ? performance.now() < end : !state.isOver) {
    const startedAt = performance.now()
    const { id } = await stack.api.createSession()
    times.push(performance.now() - startedAt)
    await stack.api.deleteSession(id)
  }
  const done = await reading
  return {
    medianMs: median(times),
    p99Ms: quantile(times, 0.99),
    loopMs: await loopLagMs(master),
    lists: done.lists,
    cpuMsPerList: ((cpuSeconds(master.pid) - before) * 1_000) / Math.max(1, done.lists),
  }
}
