import { expect, it } from '@jest/globals'
import { COST, type Units } from '@session-service/contract'
import { canTranscode } from './admission.js'

const fitting = (cores: number): number => Math.floor((cores * 75) / COST.transcodings)

it.each<[string, Units, number, boolean]>([
  ['the first on a small node', { rooms: 1 }, 1, true],
  ['the first on a busy node', { rooms: 1, recordings: 9 }, 1, true],
  ['one as long as all fit', { transcodings: fitting(8) - 1 }, 8, true],
  ['none when it would not fit', { transcodings: fitting(8) }, 8, false],
  ['none when other work occupies the node', { transcodings: 1, recordings: 20 }, 8, false],
])('a node transcodes %s', (_, held, cores, expected) => {
  expect(canTranscode(held, cores)).toBe(expected)
})
