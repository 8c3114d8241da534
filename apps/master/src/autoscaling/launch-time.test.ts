import { describe, expect, it } from '@jest/globals'
import { launchTimeMs } from './launch-time.js'

const BOUNDS = { configuredMs: 120_000, longestMs: 180_000 }
const launches = (...seconds: number[]) => seconds.map((s, index) => ({ at: index, durationMs: s * 1_000 }))

describe('launchTimeMs', () => {
  it.each([
    ['the configured one before the first launch', [], 120],
    ['that of the only launch', [30], 30],
    ['the slower of two', [20, 40], 40],
    ['that which three of four launches keep', [10, 20, 30, 99], 30],
    ['no launch of long ago', [...Array.from({ length: 20 }, () => 170), ...Array.from({ length: 10 }, () => 12)], 12],
    ['at least a second', [0], 1],
    ['at most the time after which a launch fails', [900], 180],
  ])('is %s', (_, seconds, expected) => {
    expect(launchTimeMs(launches(...seconds), BOUNDS)).toBe(expected * 1_000)
  })
})
