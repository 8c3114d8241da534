import { describe, expect, it } from '@jest/globals'
import {
  countOf,
  formatAge,
  formatBytes,
  formatDimensions,
  formatDuration,
  formatNumber,
  formatPercent,
  formatTime,
  prettyJson,
  spaced,
  words,
} from './format.js'

const NOW = 1_790_000_000_000

describe('formatting', () => {
  it.each([
    [0, '0 B'],
    [999, '999 B'],
    [1_000, '1 kB'],
    [1_234, '1.2 kB'],
    [999_960, '1 MB'],
    [3_456_000_000, '3.5 GB'],
    [8e17, '800 PB'],
  ])('formats %d bytes as "%s"', (bytes, text) => expect(formatBytes(bytes)).toBe(text))

  it.each([
    [-1, '0 s'],
    [0.4, '0 s'],
    [59.6, '1 min'],
    [200, '3 min 20 s'],
    [3_600, '1 h'],
    [7_500, '2 h 5 min'],
    [86_400 * 3 + 3_600 * 4 + 59, '3 d 4 h'],
  ])('formats %d seconds as "%s"', (seconds, text) => expect(formatDuration(seconds)).toBe(text))

  it.each([
    [0, 'just now'],
    [-4_000, 'just now'],
    [5_000, '5 s ago'],
    [59_999, '59 s ago'],
    [60_000, '1 min ago'],
    [3_600_000 * 5, '5 h ago'],
    [86_400_000 * 1_200, '1,200 d ago'],
    [-3_600_000, 'in 1 h'],
  ])('formats an age of %d ms as "%s"', (age, text) => expect(formatAge(NOW - age, NOW)).toBe(text))

  it('formats numbers, counts and shares', () => {
    expect(formatNumber(12_345)).toBe('12,345')
    expect([countOf(1, 'session'), countOf(2_000, 'session'), countOf(0, 'entry', 'entries')]).toEqual([
      '1 session',
      '2,000 sessions',
      '0 entries',
    ])
    expect([formatPercent(0), formatPercent(42.4), formatPercent(100)]).toEqual(['0%', '42%', '100%'])
    expect(formatTime(NOW)).toMatch(/2026/)
  })

  it('indents JSON, and leaves other text unchanged', () => {
    expect(prettyJson('{"a":1}')).toBe('{\n  "a": 1\n}')
    expect(prettyJson('{"a"')).toBe('{"a"')
  })

  it('separates the words of names', () => {
    expect(words('waiting-idle-to-terminate')).toBe('waiting idle to terminate')
    expect(words('BEST_FIT')).toBe('best fit')
    expect(spaced('sessionClosedByServer')).toBe('session closed by server')
  })

  it('reads the dimensions of a video, and nothing where they are unknown', () => {
    expect(formatDimensions('{"width":1280,"height":720}')).toBe('1280 × 720')
    expect([formatDimensions(null), formatDimensions('{}')]).toEqual([undefined, undefined])
  })
})
