import { expect, it } from '@jest/globals'
import { hasSlots, recordingSlots, slotsOf, wholeSlots } from './slots.js'

it.each([
  ['as many as configured', 7, 2, 7],
  ['by two cores', 0, 2, 5],
  ['by eight cores', 0, 8, 20],
  ['one where there is half a core', 0, 0.1, 1],
])('%s', (_, configured, cores, slots) => {
  expect(recordingSlots(configured, cores)).toBe(slots)
})

it.each([
  ['the first', 0, 5, 1, true],
  ['the last', 4, 5, 1, true],
  ['one too many', 5, 5, 1, false],
  ['a page beside two', 2, 5, 3, true],
  ['a page beside three', 3, 5, 3, false],
  ['a page alone on a small node', 0, 1, 3, true],
  ['one beside a page on a small node', 3, 3, 1, false],
  ['a page where nothing is recorded', 0, 0, 3, false],
])('%s', (_, used, total, wanted, has) => {
  expect(hasSlots({ used, total }, wanted)).toBe(has)
})

it('a deferred recording uses a fraction of a slot', () => {
  const output = { kind: 'COMPOSED', layout: 'BEST_FIT', width: 2, height: 2, frameRate: 1 } as const
  const slots = slotsOf({ output: { ...output, deferred: true } })
  expect(slots).toBeLessThanOrEqual(0.05 * slotsOf({ output }))
  expect([0, slots, 20 * slots, 21 * slots].map(wholeSlots)).toEqual([0, 1, 1, 2])
})
