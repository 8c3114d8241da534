import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, expect, it } from '@jest/globals'
import { LoopLag } from './loop-lag.js'

let lag: LoopLag | undefined
afterEach(() => lag?.stop())

/** A histogram to which the test adds durations, ms. */
class Durations {
  max = 0
  add(ms: number): void {
    this.max = Math.max(this.max, ms * 1e6)
  }
  reset(): void {
    this.max = 0
  }
  enable = (): boolean => true
  disable = (): boolean => true
}

/** Each window is `[durations of iterations in it, ms, expected longest delay]`. */
it.each<[string, [number[], number][]]>([
  [
    'an idle loop has no delay',
    [
      [[], 0],
      [[], 0],
    ],
  ],
  [
    'a delay counts in its window and in the next one',
    [
      [[3, 500, 2], 500],
      [[3], 500],
      [[3], 3],
    ],
  ],
  [
    'the longest delay of two windows counts',
    [
      [[4_970], 4_970],
      [[1_000], 4_970],
      [[2_000], 2_000],
    ],
  ],
])('%s', async (_, windows) => {
  const durations = new Durations()
  lag = new LoopLag(durations)
  for (const [iterations, longest] of windows) {
    iterations.forEach((ms) => durations.add(ms))
    expect(await lag.longest()).toBe(longest)
    lag.nextWindow()
    expect(await lag.longest()).toBe(Math.max(0, ...iterations))
  }
})

it('measures how long the loop was blocked, and not how long it waited for events', async () => {
  lag = new LoopLag()
  await delay(1_000)
  expect(await lag.longest()).toBeLessThan(900)
  const end = performance.now() + 400
  while (performance.now() < end);
  expect(await lag.longest()).toBeGreaterThanOrEqual(399)
})
