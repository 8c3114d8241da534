import { readFileSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { descendantsOf, ServiceApi, type Stack } from '@session-service/testing'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSecondsOfTrees } from '../figures/cpu.js'
import { interleave } from '../figures/interleave.js'
import { nativeRecorder, nodeOf } from './native-recorder.js'
import type { ActiveRecording, Recorder } from './recorder.js'

const PLANS = { quick: { pairs: 3, seconds: 8 }, full: { pairs: 7, seconds: 20 } }
const SETTLE_MS = 2_000
const SAMPLE_MS = 10
const CPU_AIM = 0.05

interface Run {
  /** CPU seconds per recorded minute while it records. */
  recording: number
  /** CPU seconds per recorded minute after the stop, for a composition. */
  composing: number
}

/** Compares recordings that are composed after their end with those that are composed live. */
export async function compareDeferred(
  stack: Stack,
  session: string,
  { quick, log }: BenchmarkOptions,
): Promise<Comparison[]> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  await stack.addMaster({ SERVICE_RECORDING_COMPOSITION: 'deferred' })
  const api = new ServiceApi(stack.masterUrls.at(-1) ?? '', stack.secret)
  const recorders = { ours: nativeRecorder(stack, session, {}, api), reference: nativeRecorder(stack, session) }
  const side = (recorder: Recorder, name: string) => async (): Promise<Run> => {
    const run = await record(stack, recorder, seconds)
    log(`${name.padEnd(10)} ${run.recording.toFixed(2)} CPU s per minute, ${run.composing.toFixed(2)} afterwards`)
    return run
  }
  const sides = { ours: side(recorders.ours, 'deferred'), reference: side(recorders.reference, 'live') }
  const { ours, reference } = await interleave(pairs, sides)
  const live = reference.map(({ recording }) => recording)
  return [
    {
      figure: 'deferred against live composition: CPU s per recorded minute',
      ours: ours.map(({ recording }) => recording),
      reference: live,
      aim: { most: CPU_AIM },
    },
    {
      figure: 'its composition afterwards against live composition: CPU s per recorded minute',
      ours: ours.map(({ composing }) => composing),
      reference: live,
    },
  ]
}

async function record(stack: Stack, recorder: Recorder, seconds: number): Promise<Run> {
  const began = performance.now()
  const running = await recorder.start()
  try {
    await delay(SETTLE_MS)
    const [from, before] = [performance.now(), cpuSecondsOfTrees(running.pids)]
    await delay(seconds * 1_000)
    const recording = ((cpuSecondsOfTrees(running.pids) - before) / (performance.now() - from)) * 60_000
    const minutes = (performance.now() - began) / 60_000
    return { recording, composing: (await stopAndCompose(stack, running)) / minutes }
  } finally {
    await running.abort()
  }
}

/** CPU seconds of the compositions that follow the stop; 0 for a live one. */
async function stopAndCompose(stack: Stack, running: ActiveRecording): Promise<number> {
  const seconds = new Map<number, number>()
  const sample = setInterval(() => {
    for (const { pid } of descendantsOf(nodeOf(stack).pid))
      if (isComposing(pid)) seconds.set(pid, cpuSecondsOfTrees([pid]))
  }, SAMPLE_MS)
  await running.stop()
  clearInterval(sample)
  return [...seconds.values()].reduce((sum, each) => sum + each, 0)
}

function isComposing(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').includes('--idle')
  } catch {
    return false
  }
}
