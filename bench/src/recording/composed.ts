import { setTimeout as delay } from 'node:timers/promises'
import type { Stack } from '@session-service/testing'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSecondsOfTrees, megabytesOfTrees } from '../figures/cpu.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { type Quality, qualityOf, type Shown } from './quality.js'
import { nodeOf } from './native-recorder.js'
import { type ActiveRecording, type Recorder, VIDEO } from './recorder.js'

const PLANS = { quick: { pairs: 3, seconds: 8 }, full: { pairs: 7, seconds: 20 } }
/** Time from the first picture until the load is steady. */
const SETTLE_MS = 2_000
const CPU_AIM = 0.35
const START_AIM = 0.15

interface Run extends Quality {
  /** CPU seconds of the recorder per recorded minute. */
  cpuPerMinute: number
  /** CPU seconds of the recorder until the file had bytes. */
  cpuToStart: number
  /** CPU seconds per minute of the media node and its worker meanwhile, without the recorder. */
  servicePerMinute: number
  bytesAfterMs: number
  decodableAfterMs: number
  megabytes: number
}

interface ComposedSetup {
  stack: Stack
  recorders: { ours: Recorder; reference: Recorder }
  /** The scenes whose pictures are compared. */
  shown: readonly Shown[]
}

export async function compareComposed(
  setup: ComposedSetup,
  { quick, log }: BenchmarkOptions,
): Promise<{ comparisons: Comparison[]; settings: Record<string, number> }> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const side = (recorder: Recorder) => async (): Promise<Run> => {
    const run = await record(setup, recorder, seconds)
    log(`${recorder.name.padEnd(10)} ${describe(run)}`)
    return run
  }
  const { ours, reference } = setup.recorders
  for (const recorder of [ours, reference]) await record(setup, recorder, 1)
  const results = await interleave(pairs, { ours: side(ours), reference: side(reference) })
  return { comparisons: figures(results), settings: { pairs, seconds } }
}

async function record({ stack, shown }: ComposedSetup, recorder: Recorder, seconds: number): Promise<Run> {
  const running = await recorder.start()
  try {
    const cpuToStart = cpuSecondsOfTrees(running.pids)
    await delay(SETTLE_MS)
    const measured = await measure(stack, running, seconds)
    const file = await running.stop()
    const { bytesAfterMs, decodableAfterMs } = running
    return {
      ...measured,
      cpuToStart,
      bytesAfterMs,
      decodableAfterMs,
      ...(await qualityOf(file, shown, VIDEO.frameRate)),
    }
  } finally {
    await running.abort()
  }
}

async function measure(stack: Stack, { pids, isOfNode }: ActiveRecording, seconds: number) {
  const read = () => {
    const recorder = cpuSecondsOfTrees(pids)
    const node = cpuSecondsOfTrees([nodeOf(stack).pid])
    return { at: performance.now(), recorder, service: node - (isOfNode ? recorder : 0) }
  }
  const before = read()
  await delay(seconds * 1000)
  const after = read()
  const minutes = (after.at - before.at) / 60_000
  return {
    cpuPerMinute: (after.recorder - before.recorder) / minutes,
    servicePerMinute: (after.service - before.service) / minutes,
    megabytes: megabytesOfTrees(pids),
  }
}

const describe = (run: Run): string =>
  `${run.cpuPerMinute.toFixed(1)} CPU s per minute, bytes after ${run.bytesAfterMs.toFixed(0)} ms, ` +
  `a picture after ${run.decodableAfterMs.toFixed(0)} ms, SSIM ${run.ssim.toFixed(4)}, ${run.kbps.toFixed(0)} kbit/s, ` +
  `${run.picturesPerSecond.toFixed(1)} pictures per second`

function figures({ ours, reference }: Pairs<Run>): Comparison[] {
  const both = (of: (run: Run) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  return [
    { figure: 'composed: CPU s per recorded minute', ...both((run) => run.cpuPerMinute), aim: { most: CPU_AIM } },
    { figure: 'until bytes are in the file, ms', ...both((run) => run.bytesAfterMs), aim: { most: START_AIM } },
    { figure: 'until it can be played, ms', ...both((run) => run.decodableAfterMs) },
    { figure: 'CPU s until then', ...both((run) => run.cpuToStart) },
    { figure: 'memory, MiB', ...both((run) => run.megabytes) },
    { figure: 'media node and worker meanwhile, CPU s a minute', ...both((run) => run.servicePerMinute) },
    { figure: 'similarity to what was sent (SSIM)', ...both((run) => run.ssim) },
    { figure: 'pictures per second that show something new', ...both((run) => run.picturesPerSecond) },
    { figure: 'pictures in the file, of those there should be', ...both((run) => run.frameShare) },
    { figure: 'kbit/s of the file', ...both((run) => run.kbps) },
  ]
}
