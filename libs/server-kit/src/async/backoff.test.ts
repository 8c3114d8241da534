import { describe, expect, it } from '@jest/globals'
import { backoffMs } from './backoff.js'

const PLAIN = { firstMs: 200, longestMs: 10_000, jitter: false }

describe('backoffMs', () => {
  it.each([
    [0, 200],
    [1, 200],
    [2, 400],
    [6, 6_400],
    [7, 10_000],
    [5_000, 10_000],
  ])('after %d failures is %d ms', (failures, ms) => {
    expect(backoffMs(failures, PLAIN)).toBe(ms)
  })

  it('grows by the factor', () => {
    expect([1, 2, 3].map((failures) => backoffMs(failures, { ...PLAIN, factor: 3 }))).toEqual([200, 600, 1_800])
  })

  it.each([
    [0, 200],
    [0.5, 300],
    [1, 400],
  ])('draws from the upper half of the range: %d gives %d ms', (random, ms) => {
    expect(backoffMs(2, { ...PLAIN, jitter: true }, random)).toBe(ms)
  })
})
