import { describe, expect, it } from '@jest/globals'
import { median, quantile, ratios, summarise } from './statistics.js'

describe('median and quantiles', () => {
  it('takes the middle value of an odd number of values, and the mean of the middle two of an even number', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(median([7])).toBe(7)
  })

  it('interpolates quantiles between neighbouring values', () => {
    expect(quantile([0, 10, 20, 30, 40], 0.25)).toBe(10)
    expect(quantile([0, 10], 0.75)).toBe(7.5)
    expect(quantile([3, 1, 2], 0)).toBe(1)
    expect(quantile([3, 1, 2], 1)).toBe(3)
  })

  it('sorts numerically and does not change its input', () => {
    const values = [100, 20, 3]
    expect(median(values)).toBe(20)
    expect(values).toEqual([100, 20, 3])
  })

  it('throws without values', () => {
    expect(() => median([])).toThrow('no values')
  })

  it('summarises values by median, quartiles and count', () => {
    expect(summarise([1, 2, 3, 4, 100])).toEqual({ median: 3, low: 2, high: 4, count: 5 })
  })
})

describe('ratios', () => {
  it('divides the values pair by pair', () => {
    expect(ratios([2, 9], [1, 3])).toEqual([2, 3])
  })

  it('throws when a value has no counterpart', () => {
    expect(() => ratios([1, 2], [1])).toThrow('2 values cannot be paired with 1')
  })
})
