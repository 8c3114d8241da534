import { expect, it } from '@jest/globals'
import { leastLoaded } from './least-loaded.js'

it('takes the worker with the least to forward', () => {
  const [idle, busy] = [
    { rooms: 1, consumers: 4 },
    { rooms: 1, consumers: 40 },
  ]
  expect(leastLoaded([busy, idle])).toBe(idle)
  expect(leastLoaded([idle, busy])).toBe(idle)
})

it('a room that nobody talks in yet weighs too', () => {
  const [full, opened] = [
    { rooms: 1, consumers: 10 },
    { rooms: 3, consumers: 0 },
  ]
  expect(leastLoaded([opened, full])).toBe(full)
})

it('takes the first of equals, and none of none', () => {
  const [one, two] = [
    { rooms: 0, consumers: 0 },
    { rooms: 0, consumers: 0 },
  ]
  expect(leastLoaded([one, two])).toBe(one)
  expect(leastLoaded([])).toBeUndefined()
})
