import { expect, it } from '@jest/globals'
import { RetryDelays } from './retry-delays.js'

it('doubles the delay after each failure up to 8 s, and has none after a success', () => {
  let now = 0
  const delays = new RetryDelays(() => now)
  const pauses: number[] = []
  for (let failure = 1; failure <= 6; failure++) {
    delays.note('a', false)
    const failedAt = now
    while (!delays.isDue('a')) now += 500
    pauses.push(now - failedAt)
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
  delays.note('a', true)
  expect(delays.isDue('a')).toBe(true)
})

it('delays each id on its own, and forgets ids that are not kept', () => {
  const delays = new RetryDelays(() => 0)
  delays.note('a', false)
  expect([delays.isDue('a'), delays.isDue('b')]).toEqual([false, true])
  delays.keepOnly(['b'])
  expect(delays.isDue('a')).toBe(true)
})
