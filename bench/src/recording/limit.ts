import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import type { BenchmarkOptions } from '../benchmark/benchmark.js'
import { qualityOf, type Shown } from './quality.js'
import { VIDEO, type Recorder } from './recorder.js'

const PLANS = { quick: { most: 4, seconds: 6 }, full: { most: 12, seconds: 12 } }
const SETTLE_MS = 2_000
/** Minimum share of the sent pictures that a recording must show. */
const MIN_SHARE = 0.97

/**
 * Finds the number of concurrent recordings at which pictures are dropped: adds one as long as each recording shows the
 * pictures that were sent. The senders run on the same machine.
 */
export async function findLimit(
  nextRecorder: () => Promise<{ recorder: Recorder; leave: () => Promise<void> }>,
  shown: readonly Shown[],
  { quick, log }: BenchmarkOptions,
): Promise<string[]> {
  const { most, seconds } = quick ? PLANS.quick : PLANS.full
  await using cleanUp = new AsyncDisposableStack()
  const recorders: Recorder[] = []
  for (let count = 1; count <= most; count++) {
    const { recorder, leave } = await nextRecorder()
    cleanUp.defer(leave)
    recorders.push(recorder)
    const share = await worstShare(recorders, shown, seconds)
    log(`${count} at once: the worst shows ${(share * 100).toFixed(0)} % of the pictures`)
    if (share < MIN_SHARE)
      return [
        `recordings at once without dropped pictures: ${count - 1} on ${availableParallelism()} cores, which also run the senders`,
      ]
  }
  return [`recordings at once without dropped pictures: ${most} or more`]
}

/** The share of the sent pictures that the worst recording shows. */
async function worstShare(recorders: readonly Recorder[], shown: readonly Shown[], seconds: number): Promise<number> {
  const running = await Promise.all(recorders.map((recorder) => recorder.start()))
  try {
    await delay(SETTLE_MS + seconds * 1000)
    const files = await Promise.all(running.map((each) => each.stop()))
    const shares: number[] = []
    for (const file of files)
      shares.push((await qualityOf(file, shown, VIDEO.frameRate)).picturesPerSecond / VIDEO.frameRate)
    return Math.min(...shares)
  } finally {
    await Promise.all(running.map((each) => each.abort()))
  }
}
