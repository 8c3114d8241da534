import { setTimeout as delay } from 'node:timers/promises'
import { until } from '@session-service/testing'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSeconds } from '../figures/cpu.js'
import { Peer, PEERS } from './peer.js'
import { createCamera, readers, type Scene } from './scene.js'

const PLANS = { quick: { windows: 3, seconds: 4 }, full: { windows: 8, seconds: 8 } }
const SETTLE_MS = 3_000
const KINDS = [
  { name: 'copied', figure: 'both tracks copied', aim: { most: 1.1 } },
  { name: 'audio', figure: 'AAC to Opus' },
  { name: 'video', figure: 'H.265 to H.264' },
] as const

/** Both sides read the same camera at the same time. */
export async function compareCost(scene: Scene, options: BenchmarkOptions): Promise<Comparison[]> {
  const comparisons: Comparison[] = []
  for (const { name, figure, ...aim } of KINDS) {
    const { ours, reference } = await measure(scene, name, options)
    comparisons.push({ figure: `${figure}: CPU ms per second`, ours, reference, ...aim })
  }
  return comparisons
}

async function measure(
  scene: Scene,
  name: keyof typeof PEERS,
  { quick, log }: BenchmarkOptions,
): Promise<{ ours: number[]; reference: number[] }> {
  const { windows, seconds } = quick ? PLANS.quick : PLANS.full
  await using cleanUp = new AsyncDisposableStack()
  const { id } = await scene.stack.api.createSession()
  cleanUp.defer(() => scene.stack.api.deleteSession(id))
  await createCamera(scene, id, name)
  const peer = await Peer.start(scene.server.url(name), PEERS[name])
  cleanUp.defer(() => peer.stop())
  await until('the peer sends', () => peer.packets > 0, 30_000)
  const [reader = 0] = readers(scene)
  await delay(SETTLE_MS)
  const [ours, reference]: [number[], number[]] = [[], []]
  for (let window = 0; window < windows; window++) {
    const [began, us, them] = [performance.now(), cpuSeconds(reader), cpuSeconds(peer.pid)]
    await delay(seconds * 1_000)
    const length = performance.now() - began
    ours.push(((cpuSeconds(reader) - us) / length) * 1e6)
    reference.push(((cpuSeconds(peer.pid) - them) / length) * 1e6)
    log(`${name}: ${ours.at(-1)?.toFixed(1)} ms of CPU a second, ffmpeg ${reference.at(-1)?.toFixed(1)}`)
  }
  return { ours, reference }
}
