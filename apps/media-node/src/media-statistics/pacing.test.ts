import { describe, expect, it } from '@jest/globals'
import { batchSize } from './pacing.js'

describe('the number of samples at a time', () => {
  it.each<[string, number, number, number]>([
    ['spreads the samples over the interval', 500, 30_000, 9],
    ['takes the rest at the end of the interval', 7, 400, 7],
    ['takes the rest after the end of the interval', 7, -1_000, 7],
    ['takes at least one while samples wait', 1, 86_400_000, 1],
    ['takes none when none waits', 0, 30_000, 0],
    ['bounds the load of a large node', 100_000, 30_000, 50],
  ])('%s', (_, waiting, remainingMs, expected) => {
    expect(batchSize(waiting, remainingMs, 500)).toBe(expected)
  })
})
