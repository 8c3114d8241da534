import { beforeEach, describe, expect, it } from '@jest/globals'
import { CrashLoop } from './crash-loop.js'

const TIMING = { deaths: 5, withinMs: 10_000, stableMs: 35_000 }
let now: number
let loop: CrashLoop
beforeEach(() => {
  now = 1e6
  loop = new CrashLoop(TIMING, () => now)
})

const diesAt = (...times: number[]): boolean[] =>
  times.map((at) => {
    now = 1e6 + at
    return loop.died()
  })

describe('workers', () => {
  it.each<[string, number[], boolean]>([
    ['once', [0], false],
    ['four times at once', [0, 0, 0, 0], false],
    ['five times in ten seconds', [0, 200, 800, 2_600, 8_000], true],
    ['five times at once', [0, 0, 0, 0, 0], true],
    ['five times, but not in ten seconds', [0, 3_000, 6_000, 9_000, 12_000], false],
    ['often, but seldom', Array.from({ length: 20 }, (_, i) => i * 3_000), false],
  ])('that die %s', (_, times, isLoop) => {
    expect(diesAt(...times).includes(true)).toBe(isLoop)
    expect(loop.isLooping).toBe(isLoop)
  })

  it('in a crash loop are reported once', () => {
    expect(diesAt(0, 1, 2, 3, 4, 5, 6, 30_000, 60_000)).toEqual([
      ...Array.from({ length: 4 }, () => false),
      true,
      ...Array.from({ length: 4 }, () => false),
    ])
    expect(loop.isLooping).toBe(true)
  })

  it('leave the crash loop after the stable time, and can enter it again', () => {
    diesAt(0, 0, 0, 0, 0)
    now += TIMING.stableMs - 1
    expect(loop.isLooping).toBe(true)
    now += 1
    expect(loop.isLooping).toBe(false)
    expect(diesAt(40_000)).toEqual([false])
    expect(diesAt(40_000, 40_000, 40_000, 40_000)).toEqual([false, false, false, true])
  })
})
