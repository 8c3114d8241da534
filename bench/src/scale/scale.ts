import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { readable } from '../figures/table.js'
import { KINDS, Site, type SiteRun } from './site.js'

const FEW = 100
const MANY = [10_000, 50_000] as const
const WARM_UP_CALLS = 300
const PLANS = { quick: { pairs: 3, calls: 150 }, full: { pairs: 7, calls: 500 } }
const MOST_OF_GET = 1.2

/** What calls cost with many live sessions, against the same calls with few. */
export const scale: Benchmark = {
  run: async (options) => {
    const comparisons: Comparison[] = []
    const notes: string[] = []
    for (const sessions of MANY) {
      await using cleanUp = new AsyncDisposableStack()
      // Both anew: a process that has run for longer is ahead by what it has compiled.
      const [few, many] = [await Site.start(FEW), await Site.start(sessions)]
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

async function measure(many: Site, few: Site, { quick, tell }: BenchmarkOptions): Promise<Pairs<SiteRun>> {
  const { pairs, calls } = quick ? PLANS.quick : PLANS.full
  for (const site of [many, few]) await site.run(WARM_UP_CALLS)
  const told = async (site: Site): Promise<SiteRun> => {
    const run = await site.run(calls)
    const { ms, masterMicroseconds } = run.costs['GET session']
    tell(`${site.sessions} sessions: GET ${ms.toFixed(2)} ms, ${masterMicroseconds.toFixed(0)} µs of the master's CPU`)
    return run
  }
  return interleave(pairs, { ours: () => told(many), reference: () => told(few) })
}

function compareAt(sessions: number, { ours, reference }: Pairs<SiteRun>): Comparison[] {
  const both = (of: (run: SiteRun) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const name = (figure: string): string => `${sessions}: ${figure}`
  return [
    ...KINDS.flatMap((kind) => [
      { figure: name(`${kind}, ms`), ...both(({ costs }) => costs[kind].ms) },
      {
        figure: name(`${kind}, CPU of master and Postgres, µs`),
        ...both(({ costs }) => costs[kind].masterMicroseconds + costs[kind].databaseMicroseconds),
        ...(kind === 'GET session' && { aim: { most: MOST_OF_GET } }),
      },
    ]),
    { figure: name('GET sessions, ms to the first byte'), ...both(({ listFirstMs }) => listFirstMs) },
    { figure: name('GET sessions, ms to the last byte'), ...both(({ listLastMs }) => listLastMs) },
  ]
}

async function memory(site: Site, few: Site): Promise<string> {
  const { growth, bytes } = await site.growthWhileListing()
  const kept = ((await site.heap()) - (await few.heap())) / ((site.sessions - few.sessions) / 1000)
  return (
    `${site.sessions} sessions: the master's heap holds ${readable(kept / 1024)} KiB more per 1,000 idle sessions, and its ` +
    `memory grows by ${readable(growth / 2 ** 20)} MiB while a list of ${readable(bytes / 2 ** 20)} MiB is read`
  )
}
