import { expect, test } from '@jest/globals'
import { LaunchPatience } from './launch-patience.js'

const EVERY_MS = 10_000
/** At which of so many intervals a launch that always fails is tried. */
function tries(intervals: number): number[] {
  const patience = new LaunchPatience(EVERY_MS)
  return Array.from({ length: intervals }, (_, index) => index).filter((index) => {
    if (!patience.mayLaunch(index * EVERY_MS)) return false
    patience.failed(index * EVERY_MS)
    return true
  })
}

test('K14: what always fails is tried once per interval at first, then more and more seldom, but never given up', () => {
  expect(tries(300)).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256])
})

test('after a success it starts anew', () => {
  const patience = new LaunchPatience(EVERY_MS)
  for (let now = 0; now < 5; now++) patience.failed(now)
  expect(patience.mayLaunch(EVERY_MS)).toBe(false)
  patience.succeeded()
  expect(patience.mayLaunch(EVERY_MS)).toBe(true)
})
