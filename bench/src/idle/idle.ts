import { setTimeout as delay } from 'node:timers/promises'
import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { megabytesOfTrees } from '../figures/cpu.js'
import { median } from '../figures/statistics.js'
import { readUsage, usedSince } from './usage.js'

const PLANS = { quick: { runs: 3, seconds: 20 }, full: { runs: 3, seconds: 60 } }
/** For all processes together. */
const LIMITS = { cpuSeconds: 0.2, megabytes: 180 }
/** After the start, until caches are filled, the code is compiled and the garbage of the start is collected. */
const SETTLE_MS = 75_000

/** Without the cache of compiled code of this checkout, which shortens starts and takes memory afterwards. */
const AS_IN_IMAGES = { NODE_COMPILE_CACHE: '' }

/** The resources that one program of the service uses. */
interface Run {
  /** CPU seconds per minute. */
  cpu: number
  /** Per second. */
  wakeUps: number
  megabytes: number
}

/** Measures a master, a media node, Postgres and NATS that serve no session. */
export const idle: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ ownPostgres: true, env: AS_IN_IMAGES })
    cleanUp.defer(() => stack.stop())
    await delay(SETTLE_MS)
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure(programsOf(stack), options)
  },
}

/** The first process of each program. */
function programsOf({ masters, nodes, postgres, nats }: Stack): ReadonlyMap<string, number> {
  const [master, node] = [masters[0]?.pid, nodes[0]?.pid]
  const database = postgres.server?.pid
  if (master === undefined || node === undefined || database === undefined) throw new Error('a process is missing')
  return new Map([
    ['master', master],
    ['media node', node],
    ['Postgres', database],
    ['NATS', nats.pid],
  ])
}

async function measure(
  programs: ReadonlyMap<string, number>,
  { quick, log }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const { runs, seconds } = quick ? PLANS.quick : PLANS.full
  const measured = new Map([...programs.keys()].map((name): [string, Run[]] => [name, []]))
  for (let count = 0; count < runs; count++) {
    const before = [...programs].map(([name, pid]) => ({ name, pid, usage: readUsage(pid), at: performance.now() }))
    await delay(seconds * 1_000)
    for (const { name, pid, usage, at } of before) {
      const used = usedSince(usage, readUsage(pid))
      const passed = (performance.now() - at) / 1_000
      const run = {
        cpu: (used.cpuSeconds / passed) * 60,
        wakeUps: used.wakeUps / passed,
        megabytes: megabytesOfTrees([pid]),
      }
      measured.get(name)?.push(run)
      log(`${name.padEnd(10)} ${describe([run])}`)
    }
  }
  return { names: { ours: 'all processes', reference: 'limit' }, settings: { runs, seconds }, ...figures(measured) }
}

function figures(measured: ReadonlyMap<string, readonly Run[]>): Pick<BenchmarkResult, 'comparisons' | 'notes'> {
  const programs = [...measured.values()]
  const totals = (of: (run: Run) => number): number[] =>
    (programs[0] ?? []).map((_, at) => programs.reduce((sum, runs) => sum + (runs[at] ? of(runs[at]) : 0), 0))
  const against = (figure: string, ours: number[], limit: number) => ({
    figure,
    ours,
    reference: ours.map(() => limit),
    aim: { most: 1 },
  })
  return {
    comparisons: [
      against(
        'CPU s per minute',
        totals(({ cpu }) => cpu),
        LIMITS.cpuSeconds,
      ),
      against(
        'memory (PSS), MiB',
        totals(({ megabytes }) => megabytes),
        LIMITS.megabytes,
      ),
    ],
    notes: [...measured].map(([name, runs]) => `${name}: ${describe(runs)}`),
  }
}

function describe(runs: readonly Run[]): string {
  const [cpu, wakeUps, megabytes] = (['cpu', 'wakeUps', 'megabytes'] as const).map((figure) =>
    median(runs.map((run) => run[figure])),
  )
  return `${cpu?.toFixed(3)} CPU s per minute, ${wakeUps?.toFixed(0)} wake-ups per second, ${megabytes?.toFixed(0)} MiB`
}
