import { expect, it } from '@jest/globals'
import { LaunchBackoff } from './launch-backoff.js'

const EVERY_MS = 10_000
/** The intervals at which a launch that always fails is attempted. */
function attempts(intervals: number): number[] {
  const backoff = new LaunchBackoff(EVERY_MS)
  return Array.from({ length: intervals }, (_, index) => index).filter((index) => {
    if (!backoff.mayLaunch(index * EVERY_MS)) return false
    backoff.ended(['failed'], index * EVERY_MS)
    return true
  })
}

it('retries failing launches once per interval at first, then with exponential back-off, and never gives up', () => {
  expect(attempts(300)).toEqual([0, 1, 2, 4, 8, 16, 32, 64, 128, 192, 256])
})

it('resets the back-off after a success', () => {
  const backoff = new LaunchBackoff(EVERY_MS)
  for (let now = 0; now < 5; now++) backoff.ended(['failed'], now)
  expect(backoff.mayLaunch(EVERY_MS)).toBe(false)
  backoff.ended(['failed', 'running', undefined], EVERY_MS)
  expect(backoff.mayLaunch(EVERY_MS)).toBe(true)
})

it('counts the failures of launches that ended together once', () => {
  const backoff = new LaunchBackoff(EVERY_MS)
  const failed = Array.from({ length: 8 }, () => 'failed' as const)
  for (const now of [0, 1]) {
    backoff.ended(failed, now * EVERY_MS)
    backoff.ended([undefined], now * EVERY_MS)
    expect(backoff.mayLaunch((now + 1) * EVERY_MS)).toBe(true)
  }
})
