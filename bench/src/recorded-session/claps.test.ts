import { expect, it } from '@jest/globals'
import { offsets, readFigures, risesAbove } from './claps.js'

it('reports each rise above the threshold once, not a value that starts above it, and treats silence as below', () => {
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

it('pairs each time with the nearest of the others and leaves out times without a near one', () => {
  const found = offsets([1.05, 2.02, 3.5, 4.9], [1, 2, 5])
  expect(found.map((seconds) => Math.round(seconds * 100))).toEqual([5, 2, -10])
  expect(offsets([1], [])).toEqual([])
})

it('parses the frame times and values that ffmpeg prints', () => {
  const text =
    'frame:0    pts:0       pts_time:0\nlavfi.astats.Overall.RMS_level=-inf\n' +
    'frame:1    pts:240     pts_time:0.005\nlavfi.astats.Overall.RMS_level=-9.25\n'
  expect(readFigures(text)).toEqual([
    [0, -Infinity],
    [0.005, -9.25],
  ])
})
