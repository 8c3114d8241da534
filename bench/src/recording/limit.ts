import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import { qualityOf, type Shown } from './quality.js'
import { VIDEO, type Way } from './recorder.js'

const PLANS = { quick: { most: 4, seconds: 6 }, full: { most: 12, seconds: 12 } }
const SETTLE_MS = 2_000
/** Of the pictures that each second could show. */
const ENOUGH = 0.97

/**
 * How many sessions can be recorded at once before pictures are dropped: one more is added as long as each recording
 * shows what was sent. Those who send run on the same machine.
 */
export async function findLimit(
  nextWay: () => Promise<{ way: Way; leave: () => Promise<void> }>,
  shown: readonly Shown[],
  { quick, tell }: BenchmarkOptions,
): Promise<string[]> {
  const { most, seconds } = quick ? PLANS.quick : PLANS.full
  await using cleanUp = new AsyncDisposableStack()
  const ways: Way[] = []
  for (let count = 1; count <= most; count++) {
    const { way, leave } = await nextWay()
    cleanUp.defer(leave)
    ways.push(way)
    const share = await worstShare(ways, shown, seconds)
    tell(`${count} at once: the worst shows ${(share * 100).toFixed(0)} % of the pictures`)
    if (share < ENOUGH)
      return [
        `recordings at once without dropped pictures: ${count - 1} on ${availableParallelism()} cores, with those who send`,
      ]
  }
  return [`recordings at once without dropped pictures: ${most} or more`]
}

/** Of the pictures that were sent, what the worst of the recordings shows. */
async function worstShare(ways: readonly Way[], shown: readonly Shown[], seconds: number): Promise<number> {
  const running = await Promise.all(ways.map((way) => way.start()))
  try {
    await delay(SETTLE_MS + seconds * 1000)
    const files = await Promise.all(running.map((each) => each.stop()))
    const shares: number[] = []
    for (const file of files)
      shares.push((await qualityOf(file, shown, VIDEO.frameRate)).picturesPerSecond / VIDEO.frameRate)
    return Math.min(...shares)
  } finally {
    await Promise.all(running.map((each) => each.abandon()))
  }
}
