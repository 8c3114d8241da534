import { describe, expect, it } from '@jest/globals'
import { retryAfter } from './retry-after.js'

describe('retryAfter', () => {
  it('reads seconds or a date, and ignores other values', () => {
    const now = Date.parse('2026-01-01T00:00:00Z')
    expect(retryAfter('3', now)).toBe(3_000)
    expect(retryAfter('Thu, 01 Jan 2026 00:00:10 GMT', now)).toBe(10_000)
    expect(retryAfter('Wed, 31 Dec 2025 00:00:00 GMT', now)).toBe(0)
    expect(retryAfter('soon', now)).toBe(0)
    expect(retryAfter(undefined, now)).toBe(0)
  })
})
