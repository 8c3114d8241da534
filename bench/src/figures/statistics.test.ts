import { describe, expect, test } from '@jest/globals'
import { median, quantile, ratios, summarise } from './statistics.js'

describe('median and quantiles', () => {
  test('the middle one of an odd number, between the middle two of an even number', () => {
    expect(median([9, 1, 5])).toBe(5)
    expect(median([4, 1, 3, 2])).toBe(2.5)
    expect(median([7])).toBe(7)
  })

  test('lie between the values they fall between', () => {
    expect(quantile([0, 10, 20, 30, 40], 0.25)).toBe(10)
    expect(quantile([0, 10], 0.75)).toBe(7.5)
    expect(quantile([3, 1, 2], 0)).toBe(1)
    expect(quantile([3, 1, 2], 1)).toBe(3)
  })

  test('sort numbers as numbers and leave the values as they were', () => {
    const values = [100, 20, 3]
    expect(median(values)).toBe(20)
    expect(values).toEqual([100, 20, 3])
  })

  test('of nothing there are none', () => {
    expect(() => median([])).toThrow('no values')
  })

  test('a summary holds the middle half', () => {
    expect(summarise([1, 2, 3, 4, 100])).toEqual({ median: 3, low: 2, high: 4, count: 5 })
  })
})

describe('ratios', () => {
  test('are those of neighbours', () => {
    expect(ratios([2, 9], [1, 3])).toEqual([2, 3])
  })

  test('a value without a neighbour is an error', () => {
    expect(() => ratios([1, 2], [1])).toThrow('2 values have no ratio to 1')
  })
})
