import { expect, it } from '@jest/globals'
import { COST, type MediaKind, type Units } from '@session-service/contract'
import { canFilter } from './admission.js'

const fitting = (cores: number): number => Math.floor((cores * 75) / COST.videoFilters)

it.each<[string, MediaKind, Units, number, boolean]>([
  ['the first filter of a video on a small node', 'video', { rooms: 1 }, 1, true],
  ['the first filter of audio on a busy node', 'audio', { rooms: 1, recordings: 9, videoFilters: 1 }, 1, true],
  ['filters as long as all fit', 'video', { videoFilters: fitting(8) - 1 }, 8, true],
  ['no filter of a video that does not fit', 'video', { videoFilters: fitting(8) }, 8, false],
  ['many filters of audio, which cost little', 'audio', { audioFilters: 10 }, 1, true],
  [
    'no other filter of audio when other work occupies the node',
    'audio',
    { audioFilters: 1, recordings: 20 },
    8,
    false,
  ],
])('a node applies %s', (_, kind, held, cores, expected) => {
  expect(canFilter(held, kind, cores)).toBe(expected)
})
