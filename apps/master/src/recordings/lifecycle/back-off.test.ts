import { expect, it } from '@jest/globals'
import { BackOff } from './back-off.js'

it('pauses longer after each failure, up to a bound, and not at all after a success', () => {
  let now = 0
  const backOff = new BackOff(() => now)
  const pauses: number[] = []
  for (let failure = 1; failure <= 6; failure++) {
    backOff.note('a', false)
    const since = now
    while (!backOff.isOver('a')) now += 500
    pauses.push(now - since)
  }
  expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 8_000, 8_000])
  backOff.note('a', true)
  expect(backOff.isOver('a')).toBe(true)
})

it('knows nothing of others', () => {
  const backOff = new BackOff(() => 0)
  backOff.note('a', false)
  expect([backOff.isOver('a'), backOff.isOver('b')]).toEqual([false, true])
  backOff.keepOnly(['b'])
  expect(backOff.isOver('a')).toBe(true)
})
