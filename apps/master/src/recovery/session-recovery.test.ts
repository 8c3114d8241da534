import { expect, it } from '@jest/globals'
import { spreadOf } from './session-recovery.service.js'

it.each([
  [0, 0],
  [1, 0],
  [8, 0],
  [9, 135],
  [200, 3_000],
  [10_000, 3_000],
])('spreads the reconnects of %d clients over %d ms', (participants, expected) => {
  expect(spreadOf(participants)).toBe(expected)
})
