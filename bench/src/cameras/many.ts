import { setTimeout as delay } from 'node:timers/promises'
import type { Subscription } from '@session-service/testing'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSecondsOfTrees, megabytesOfTrees } from '../figures/cpu.js'
import { median, quantile } from '../figures/statistics.js'
import { Peer, PEERS } from './peer.js'
import { createCamera, firstPicture, joinSession, readers, type Scene } from './scene.js'

export const CAMERAS = 20
/** The others are read without a receiver: receivers cost more than cameras. */
const WATCHED = 4
const PLANS = { quick: 20, full: 120 }
const SETTLE_MS = 5_000
const SAMPLE_MS = 500
const VIDEO_CLOCK = 90_000
const WRAP_MS = (2 ** 32 / VIDEO_CLOCK) * 1_000

/** Adds to the times of this process those since the start of the machine, by which cameras are timed. */
const MONOTONIC_MS = Number(process.hrtime.bigint()) / 1e6 - performance.now()

/** Reads many cameras on one media node for some time. */
export async function compareMany(
  scene: Scene,
  { quick, log }: BenchmarkOptions,
): Promise<{ comparisons: Comparison[]; notes: string[] }> {
  const seconds = quick ? PLANS.quick : PLANS.full
  await using cleanUp = new AsyncDisposableStack()
  const { id } = await scene.stack.api.createSession()
  cleanUp.defer(() => scene.stack.api.deleteSession(id))
  const watched = await open(scene, id)
  const peer = await Peer.start(scene.server.url('copied'), PEERS.copied)
  cleanUp.defer(() => peer.stop())
  await delay(SETTLE_MS)
  log(`${readers(scene).length} cameras are read`)
  const { delays, ours, reference } = await observe(scene, { watched, peer, seconds })
  const third = Math.ceil(delays.length / 3)
  const perCamera = (at: readonly number[][]): number[] =>
    watched.map((_, nth) => median(at.map((row) => row[nth] ?? NaN)))
  const all = delays.flat()
  return {
    comparisons: [
      {
        figure: `${CAMERAS} cameras: CPU ms per second and camera, with node and worker`,
        ours: ours.cpu,
        reference: reference.cpu,
      },
      { figure: 'memory per camera, MiB', ours: [ours.memory], reference: [reference.memory] },
      {
        figure: 'delay of pictures, ms: last third against first third',
        ours: perCamera(delays.slice(-third)),
        reference: perCamera(delays.slice(0, third)),
      },
    ],
    notes: [
      `judged by CPU alone, a core reads ${(1_000 / median(ours.cpu)).toFixed(0)} copied cameras`,
      `delay of pictures over ${seconds} s: median ${median(all).toFixed(0)} ms, 99 % below ${quantile(all, 0.99).toFixed(0)} ms`,
      `programs at the end: ${readers(scene).length} of ${CAMERAS}`,
    ],
  }
}

async function open(scene: Scene, id: string): Promise<Subscription[]> {
  const cameras = []
  for (let count = 0; count < CAMERAS; count++) cameras.push(await createCamera(scene, id, 'copied'))
  const viewer = await joinSession(scene, id)
  const streams = cameras.slice(0, WATCHED).map(({ publishers }) => publishers?.[0]?.streamId ?? '')
  const watched = await Promise.all(streams.map((streamId) => viewer.subscribe(streamId)))
  await Promise.all(watched.map(firstPicture))
  return watched
}

interface Observed {
  /** CPU ms per second, once a window. */
  cpu: number[]
  memory: number
}

async function observe(
  scene: Scene,
  { watched, peer, seconds }: { watched: readonly Subscription[]; peer: Peer; seconds: number },
): Promise<{ delays: number[][]; ours: Observed; reference: Observed }> {
  const nodes = scene.stack.nodes.map(({ pid }) => pid)
  const delays: number[][] = []
  const [ours, reference]: [number[], number[]] = [[], []]
  const windows = Math.max(2, Math.round(seconds / 10))
  for (let window = 0; window < windows; window++) {
    const [began, us, them] = [performance.now(), cpuSecondsOfTrees(nodes), cpuSecondsOfTrees([peer.pid])]
    while (performance.now() - began < (seconds * 1_000) / windows) {
      await delay(SAMPLE_MS)
      delays.push(watched.map(delayOf))
    }
    const length = performance.now() - began
    ours.push(((cpuSecondsOfTrees(nodes) - us) / length / CAMERAS) * 1e6)
    reference.push(((cpuSecondsOfTrees([peer.pid]) - them) / length) * 1e6)
  }
  return {
    delays,
    ours: { cpu: ours, memory: megabytesOfTrees(nodes) / CAMERAS },
    reference: { cpu: reference, memory: megabytesOfTrees([peer.pid]) },
  }
}

/** From the arrival of a picture at the media node to its arrival here: its timestamp is the time of the machine. */
function delayOf(watched: Subscription): number {
  const ms = (watched.stats().video?.transitMs ?? NaN) + MONOTONIC_MS
  return (((ms % WRAP_MS) + 1.5 * WRAP_MS) % WRAP_MS) - WRAP_MS / 2
}
