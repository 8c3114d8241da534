import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { readable } from '../figures/table.js'
import { KINDS, Deployment, type DeploymentRun } from './deployment.js'

const FEW = 100
const MANY = [10_000, 50_000] as const
const WARM_UP_CALLS = 300
const PLANS = { quick: { pairs: 3, calls: 150 }, full: { pairs: 7, calls: 500 } }
const GET_AIM = 1.2

/** Compares the cost of calls with many live sessions with the same calls with few. */
export const scale: Benchmark = {
  run: async (options) => {
    const comparisons: Comparison[] = []
    const notes: string[] = []
    for (const sessions of MANY) {
      await using cleanUp = new AsyncDisposableStack()
      // Both sides start fresh: a process that has run for longer has more compiled code and would be ahead.
      const [few, many] = [await Deployment.start(FEW), await Deployment.start(sessions)]
      cleanUp.defer(() => few.stop())
      cleanUp.defer(() => many.stop())
      comparisons.push(...compareAt(sessions, await measure(many, few, options)))
      notes.push(await memory(many, few))
    }
    const { pairs, calls } = options.quick ? PLANS.quick : PLANS.full
    const settings = { pairs, calls }
    return { names: { ours: 'many', reference: `${FEW}` }, settings, comparisons, notes } satisfies BenchmarkResult
  },
}

async function measure(
  many: Deployment,
  few: Deployment,
  { quick, log }: BenchmarkOptions,
): Promise<Pairs<DeploymentRun>> {
  const { pairs, calls } = quick ? PLANS.quick : PLANS.full
  for (const deployment of [many, few]) await deployment.run(WARM_UP_CALLS)
  const logged = async (deployment: Deployment): Promise<DeploymentRun> => {
    const run = await deployment.run(calls)
    const { ms, masterMicroseconds } = run.costs['GET session']
    log(
      `${deployment.sessions} sessions: GET ${ms.toFixed(2)} ms, ${masterMicroseconds.toFixed(0)} µs of the master's CPU`,
    )
    return run
  }
  return interleave(pairs, { ours: () => logged(many), reference: () => logged(few) })
}

function compareAt(sessions: number, { ours, reference }: Pairs<DeploymentRun>): Comparison[] {
  const both = (of: (run: DeploymentRun) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const name = (figure: string): string => `${sessions}: ${figure}`
  return [
    ...KINDS.flatMap((kind) => [
      { figure: name(`${kind}, ms`), ...both(({ costs }) => costs[kind].ms) },
      {
        figure: name(`${kind}, CPU of master and Postgres, µs`),
        ...both(({ costs }) => costs[kind].masterMicroseconds + costs[kind].databaseMicroseconds),
        ...(kind === 'GET session' && { aim: { most: GET_AIM } }),
      },
    ]),
    { figure: name('GET sessions, ms to the first byte'), ...both(({ listFirstMs }) => listFirstMs) },
    { figure: name('GET sessions, ms to the last byte'), ...both(({ listLastMs }) => listLastMs) },
  ]
}

async function memory(deployment: Deployment, few: Deployment): Promise<string> {
  const { growth, bytes } = await deployment.growthWhileListing()
  const kept = ((await deployment.heap()) - (await few.heap())) / ((deployment.sessions - few.sessions) / 1000)
  return (
    `${deployment.sessions} sessions: the master's heap holds ${readable(kept / 1024)} KiB more per 1,000 idle sessions, and its ` +
    `memory grows by ${readable(growth / 2 ** 20)} MiB while a list of ${readable(bytes / 2 ** 20)} MiB is read`
  )
}
