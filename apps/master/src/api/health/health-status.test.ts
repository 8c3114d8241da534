import { expect, it } from '@jest/globals'
import { clusterStatus, masterStatus } from './health-status.js'

it.each([
  [0, 0, 'DOWN'],
  [0, 2, 'DOWN'],
  [1, 1, 'UNSTABLE'],
  [2, 0, 'UP'],
] as const)('a master with %i connected and %i disconnected media nodes is %s', (live, disconnected, expected) => {
  expect(masterStatus(live, disconnected)).toBe(expected)
})

it.each([
  [['UP', 'UP'], 'UP'],
  [['UP', 'UNSTABLE'], 'UNSTABLE'],
  [['UP', 'DOWN'], 'UNSTABLE'],
  [['UNSTABLE', 'DOWN'], 'UNSTABLE'],
  [['DOWN', 'DOWN'], 'DOWN'],
  [[], 'DOWN'],
] as const)('a cluster with masters that are %j is %s', (masters, expected) => {
  expect(clusterStatus(masters)).toBe(expected)
})
