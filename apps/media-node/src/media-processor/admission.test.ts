import { expect, it } from '@jest/globals'
import { COST, type Units } from '@session-service/contract'
import { canProcess } from './admission.js'

type Unit = Parameters<typeof canProcess>[1]

const fitting = (unit: Unit, cores: number): number => Math.floor((cores * 75) / COST[unit])

it.each<[string, Unit, Units, number, boolean]>([
  ['applies the first filter of a video on a small node', 'videoFilters', { rooms: 1 }, 1, true],
  [
    'applies the first filter of audio on a busy node',
    'audioFilters',
    { rooms: 1, recordings: 9, videoFilters: 1 },
    1,
    true,
  ],
  ['applies filters as long as all fit', 'videoFilters', { videoFilters: fitting('videoFilters', 8) - 1 }, 8, true],
  [
    'applies no filter of a video that does not fit',
    'videoFilters',
    { videoFilters: fitting('videoFilters', 8) },
    8,
    false,
  ],
  ['applies many filters of audio, which cost little', 'audioFilters', { audioFilters: 10 }, 1, true],
  [
    'applies no other filter of audio when other work occupies the node',
    'audioFilters',
    { audioFilters: 1, recordings: 20 },
    8,
    false,
  ],
  ['transcodes the first video on a small node', 'transcodings', { rooms: 1 }, 1, true],
  ['transcodes the first video on a busy node', 'transcodings', { rooms: 1, recordings: 9 }, 1, true],
  ['transcodes one more as long as all fit', 'transcodings', { transcodings: fitting('transcodings', 8) - 1 }, 8, true],
  ['transcodes none when it would not fit', 'transcodings', { transcodings: fitting('transcodings', 8) }, 8, false],
  ['transcodes none when other work occupies the node', 'transcodings', { transcodings: 1, recordings: 20 }, 8, false],
])('a node %s', (_, unit, held, cores, expected) => {
  expect(canProcess(held, unit, cores)).toBe(expected)
})
