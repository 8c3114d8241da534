import { expect, it } from '@jest/globals'
import { LaunchBackoff } from './launch-backoff.js'

const EVERY_MS = 10_000
/** The intervals at which a launch that always fails is attempted. */
function attempts(intervals: number): number[] {
  const backoff = new LaunchBackoff(EVERY_MS)
  return Array.from({ length: intervals }, (_, index) => index).filter((index) => {
    if (!backoff.mayLaunch(index * EVERY_MS)) return false
    backoff.failed(index * EVERY_MS)
    return true
  })
}

it('K14: retries failing launches once per interval at first, then with exponential back-off, and never gives up', () => {
  expect(attempts(300)).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256])
})

it('resets the back-off after a success', () => {
  const backoff = new LaunchBackoff(EVERY_MS)
  for (let now = 0; now < 5; now++) backoff.failed(now)
  expect(backoff.mayLaunch(EVERY_MS)).toBe(false)
  backoff.succeeded()
  expect(backoff.mayLaunch(EVERY_MS)).toBe(true)
})
