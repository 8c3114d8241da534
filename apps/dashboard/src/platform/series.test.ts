import { expect, it } from '@jest/globals'
import { sparklinePath } from './series.js'

it.each([
  ['no values', [], ''],
  ['one value', [[0, 1]], ''],
  [
    'values of the same moment',
    [
      [5, 1],
      [5, 2],
    ],
    '',
  ],
  [
    'rising values',
    [
      [10, 1],
      [15, 2],
      [20, 3],
    ],
    'M0 22L50 12L100 2',
  ],
  [
    'equal values',
    [
      [0, 7],
      [4, 7],
    ],
    '',
  ],
])('outlines %s', (_, points, path) =>
  expect(sparklinePath(points.map(([at = 0, value = 0]) => ({ at, value })))).toBe(path),
)
