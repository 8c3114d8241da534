import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSecondsOfTrees } from '../figures/cpu.js'
import { interleave } from '../figures/interleave.js'
import type { Recorder } from './recorder.js'

const PLANS = { quick: { pairs: 2, seconds: 6 }, full: { pairs: 5, seconds: 15 } }
const SETTLE_MS = 2_000

/** Remuxes files in real time, with one ffmpeg process for each. */
export const remuxRecorder = (scenes: readonly string[], folder: string): Recorder => ({
  name: 'remux',
  start: async () => {
    const began = performance.now()
    const children = scenes.map((scene, nth) => {
      const output = ['-c', 'copy', '-flush_packets', '1', '-f', 'webm', join(folder, `copy${nth}.webm`)]
      const args = ['-v', 'error', '-nostdin', '-y', '-re', '-stream_loop', '-1', '-i', scene, ...output]
      return spawn('ffmpeg', args, { stdio: 'ignore' })
    })
    await Promise.all(children.map((child) => once(child, 'spawn')))
    const startedAfterMs = performance.now() - began
    const stop = async (): Promise<void> => {
      const running = children.filter((child) => child.exitCode === null && child.signalCode === null)
      const ended = running.map((child) => once(child, 'exit'))
      for (const child of running) child.kill('SIGINT')
      await Promise.all(ended)
    }
    return {
      pids: children.flatMap(({ pid }) => pid ?? []),
      isOfNode: false,
      bytesAfterMs: startedAfterMs,
      decodableAfterMs: startedAfterMs,
      stop: async () => {
        await stop()
        return join(folder, 'copy0.webm')
      },
      abort: stop,
    }
  },
})

/** Compares CPU only: both sides write the received media unchanged. */
export async function compareIndividual(
  recorders: { ours: Recorder; reference: Recorder },
  { quick, log }: BenchmarkOptions,
): Promise<Comparison[]> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const side = (recorder: Recorder) => async (): Promise<number> => {
    const running = await recorder.start()
    try {
      await delay(SETTLE_MS)
      const [began, before] = [performance.now(), cpuSecondsOfTrees(running.pids)]
      await delay(seconds * 1000)
      const used = ((cpuSecondsOfTrees(running.pids) - before) / (performance.now() - began)) * 60_000
      log(`${recorder.name.padEnd(10)} ${used.toFixed(2)} CPU s per minute for ${running.pids.length} processes`)
      await running.stop()
      return used
    } finally {
      await running.abort()
    }
  }
  const both = { ours: side(recorders.ours), reference: side(recorders.reference) }
  const { ours, reference } = await interleave(pairs, both)
  return [{ figure: 'individual against remuxed files: CPU s per minute of the session', ours, reference }]
}
