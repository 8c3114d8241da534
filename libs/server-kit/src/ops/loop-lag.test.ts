import { afterEach, expect, it } from '@jest/globals'
import { LoopLag } from './loop-lag.js'

let clock = 0
let lag: LoopLag | undefined
afterEach(() => lag?.stop())

/** Each tick is `[ms since the previous tick, expected longest delay]`. */
it.each<[string, [number, number][]]>([
  ['an idle loop has no delay', Array.from({ length: 600 }, () => [20, 0])],
  [
    'a delay is kept for the next ticks',
    [
      [20, 0],
      [520, 500],
      [20, 500],
      [120, 500],
    ],
  ],
  [
    'a delay that is longer than a window is kept for the next ticks',
    [
      [20, 0],
      [6_020, 6_000],
      [20, 6_000],
    ],
  ],
  [
    'the longest delay of two windows counts',
    [
      [4_990, 4_970],
      [1_020, 4_970],
      [20, 4_970],
      [2_020, 4_970],
    ],
  ],
])('%s', (_, ticks) => {
  clock = 1_000
  lag = new LoopLag(() => clock)
  for (const [passed, longest] of ticks) {
    clock += passed
    expect(lag.longest()).toBe(longest)
    lag.tick()
    expect(lag.longest()).toBe(longest)
  }
})

it('drops a delay when the window after its own has passed', () => {
  clock = 0
  lag = new LoopLag(() => clock)
  const pass = (ms: number): void => {
    for (const end = clock + ms; clock < end; lag?.tick()) clock += 20
  }
  clock = 520
  lag.tick()
  pass(9_400)
  expect(lag.longest()).toBe(500)
  pass(200)
  expect(lag.longest()).toBe(0)
})
