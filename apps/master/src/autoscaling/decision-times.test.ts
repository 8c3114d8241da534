import { expect, it } from '@jest/globals'
import { DecisionTimes } from './decision-times.js'

const FIRST = 1_700_000_000_000

it.each([
  ['with a clock that is not corrected', 4_000, 4_000],
  ['with a clock that is set back by a correction', 3_996, 4_000],
  ['with a clock that is set forward by a correction', 4_003, 4_003],
  ['with a clock that steps back', 0, 0],
])('two decisions 4 s apart have times that are as far apart unless the clock steps, %s', (_, clockMs, expectedMs) => {
  const times = new DecisionTimes()
  expect(times.next(10.5, FIRST)).toBe(FIRST)
  expect(times.next(4_010.5, FIRST + clockMs)).toBe(FIRST + expectedMs)
})

it('the times of decisions are whole milliseconds', () => {
  const times = new DecisionTimes()
  times.next(0, FIRST)
  expect(times.next(4_000.4, FIRST + 3_990)).toBe(FIRST + 4_001)
})
