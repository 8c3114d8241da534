import { expect, test } from '@jest/globals'
import { apart, readFigures, risesAbove } from './claps.js'

test('rises: not what is above from the beginning, each once, silence is below', () => {
  const figures = [
    [0, 9],
    [1, 1],
    [2, 8],
    [3, 9],
    [4, -Infinity],
    [5, 7],
    [6, Number.NaN],
  ] as const
  expect(risesAbove(figures, 5)).toEqual([2, 5])
})

test('each with its nearest, and without what has none', () => {
  const found = apart([1.05, 2.02, 3.5, 4.9], [1, 2, 5])
  expect(found.map((seconds) => Math.round(seconds * 100))).toEqual([5, 2, -10])
  expect(apart([1], [])).toEqual([])
})

test('what is printed of frames', () => {
  const text =
    'frame:0    pts:0       pts_time:0\nlavfi.astats.Overall.RMS_level=-inf\n' +
    'frame:1    pts:240     pts_time:0.005\nlavfi.astats.Overall.RMS_level=-9.25\n'
  expect(readFigures(text)).toEqual([
    [0, -Infinity],
    [0.005, -9.25],
  ])
})
