import { expect, it } from '@jest/globals'
import { leastLoaded } from './least-loaded.js'

it('selects the worker with the fewest consumers', () => {
  const [idle, busy] = [
    { rooms: 1, consumers: 4 },
    { rooms: 1, consumers: 40 },
  ]
  expect(leastLoaded([busy, idle])).toBe(idle)
  expect(leastLoaded([idle, busy])).toBe(idle)
})

it('a room without consumers counts too', () => {
  const [full, opened] = [
    { rooms: 1, consumers: 10 },
    { rooms: 3, consumers: 0 },
  ]
  expect(leastLoaded([opened, full])).toBe(full)
})

it('selects the first of equally loaded workers, and none of an empty list', () => {
  const [one, two] = [
    { rooms: 0, consumers: 0 },
    { rooms: 0, consumers: 0 },
  ]
  expect(leastLoaded([one, two])).toBe(one)
  expect(leastLoaded([])).toBeUndefined()
})
