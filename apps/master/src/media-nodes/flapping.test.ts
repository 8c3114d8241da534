import { describe, expect, it } from '@jest/globals'
import { backOffUntil, countCrash, isBackedOff } from './flapping.js'

const NOW = 1_000_000_000
const MINUTES_5 = 300_000

describe('the number of consecutive crashes', () => {
  it.each<[string, number, number | null, number]>([
    ['counts the first one', 0, NOW - 10, 1],
    ['counts the next one when the node was connected for less than 5 minutes', 1, NOW - MINUTES_5 + 1, 2],
    ['starts again at one when the node was stable for 5 minutes', 7, NOW - MINUTES_5, 1],
    ['counts a crash of a node that was never connected', 2, null, 3],
  ])('%s', (_, crashCount, connectionTime, expected) => {
    expect(countCrash({ crashCount, connectionTime }, NOW)).toBe(expected)
  })
})

describe('the back-off of placement after a recovery', () => {
  it.each<[crashCount: number, ms: number | null]>([
    [0, null],
    [1, null],
    [2, 10_000],
    [3, 60_000],
    [4, 300_000],
    [5, 300_000],
    [100, 300_000],
  ])('after %i consecutive crashes lasts %p ms', (crashCount, ms) => {
    expect(backOffUntil(crashCount, NOW)).toBe(ms === null ? null : NOW + ms)
  })

  it.each<[string, number | null, boolean]>([
    ['is none without a time', null, false],
    ['holds until its time', NOW + 1, true],
    ['is over at its time', NOW, false],
    ['is over when the clock was set back by more than the longest back-off', NOW + MINUTES_5 + 1, false],
  ])('%s', (_, until, expected) => {
    expect(isBackedOff(until, NOW)).toBe(expected)
  })
})
