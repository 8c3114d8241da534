import { setTimeout as delay } from 'node:timers/promises'
import type { Stack } from '@session-service/testing'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSecondsOfTrees, megabytesOfTrees } from '../figures/cpu.js'
import { interleave } from '../figures/interleave.js'

const PLANS = { quick: { pairs: 2, seconds: 6 }, full: { pairs: 5, seconds: 15 } }
const SETTLE_MS = 1_000

/** Starts a session whose participants publish until `leave` is called. */
type Gather = (properties?: object) => Promise<{ leave: () => Promise<void> }>

/**
 * Measures the cost of the quick start: masters and media nodes with a session that prepares for a quick start of its
 * recording, against an ordinary session.
 */
export async function compareQuickStart(
  stack: Stack,
  gather: Gather,
  { quick, log }: BenchmarkOptions,
): Promise<Comparison[]> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const pids = [...stack.nodes, ...stack.masters].map(({ pid }) => pid)
  const side = (properties: object) => async () => {
    const session = await gather(properties)
    await delay(SETTLE_MS)
    const [began, before] = [performance.now(), cpuSecondsOfTrees(pids)]
    await delay(seconds * 1000)
    const cpu = ((cpuSecondsOfTrees(pids) - before) / (performance.now() - began)) * 60_000
    const run = { cpu, megabytes: megabytesOfTrees(pids) }
    await session.leave()
    log(`${JSON.stringify(properties)}: ${cpu.toFixed(2)} CPU s per minute, ${run.megabytes.toFixed(0)} MiB`)
    return run
  }
  const ours = side({ defaultRecordingProperties: { outputMode: 'COMPOSED_QUICK_START' } })
  const results = await interleave(pairs, { ours, reference: side({}) })
  const both = (of: (run: { cpu: number; megabytes: number }) => number) => ({
    ours: results.ours.map(of),
    reference: results.reference.map(of),
  })
  return [
    { figure: 'ready to start quickly, against not: CPU s a minute of all', ...both(({ cpu }) => cpu) },
    { figure: 'and memory, MiB', ...both(({ megabytes }) => megabytes) },
  ]
}
