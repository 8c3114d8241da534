import { describe, expect, it } from '@jest/globals'
import { retryAfter, retryDelay } from './webhook-schedule.js'

describe('when an event is posted again', () => {
  const rules = { firstMs: 100, longestMs: 1_000 }

  it('the delay doubles up to the longest, with jitter from half to whole', () => {
    expect([1, 2, 3, 4, 5, 500].map((attempts) => retryDelay(attempts, rules, 1))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ])
    expect(retryDelay(3, rules, 0)).toBe(200)
  })

  it('Retry-After is seconds or a date', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(retryAfter('3', now)).toBe(3_000)
    expect(retryAfter('Thu, 01 Jan 2026 00:00:10 GMT', now)).toBe(10_000)
    expect(retryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0)
    expect(retryAfter('soon', now)).toBe(0)
    expect(retryAfter(undefined, now)).toBe(0)
  })
})
