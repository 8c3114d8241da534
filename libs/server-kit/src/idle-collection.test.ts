import { expect, it } from '@jest/globals'
import { isCollectionDue } from './idle-collection.js'

const MIB = 1024 * 1024

it.each([
  ['after the start', { utilization: 0.01, heapBytes: 77 * MIB, keptBytes: 0 }, true],
  ['after a peak', { utilization: 0.01, heapBytes: 90 * MIB, keptBytes: 45 * MIB }, true],
  ['not while the process is busy', { utilization: 0.2, heapBytes: 90 * MIB, keptBytes: 0 }, false],
  ['not again without growth', { utilization: 0.01, heapBytes: 50 * MIB, keptBytes: 45 * MIB }, false],
])('garbage is collected %s', (_, sample, isDue) => {
  expect(isCollectionDue(sample)).toBe(isDue)
})
