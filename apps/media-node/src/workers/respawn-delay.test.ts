import { expect, it } from '@jest/globals'
import { recentDeaths, respawnDelay } from './respawn-delay.js'

it('the delay after a single death is far below two seconds', () => {
  expect(respawnDelay([1_000])).toBeLessThan(1_000)
  expect(respawnDelay([0, 100_000, 200_000])).toBe(respawnDelay([1_000]))
})

it('the delay grows with each death of a crash loop, up to the maximum', () => {
  const deaths = Array.from({ length: 12 }, (_, index) => index * 100)
  const delays = deaths.map((_, index) => respawnDelay(deaths.slice(0, index + 1)))
  expect(delays).toEqual(delays.toSorted((a, b) => a - b))
  expect(delays.slice(0, 5).every((delay, index) => index === 0 || delay > delays[index - 1]!)).toBe(true)
  expect(delays.at(-1)).toBe(30_000)
})

it('old deaths do not count', () => {
  expect(recentDeaths([0, 59_000, 100_000], 100_000)).toEqual([59_000, 100_000])
})
