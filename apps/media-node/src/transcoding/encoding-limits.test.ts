import { expect, it } from '@jest/globals'
import type { Quality } from '../rooms/transcoder.js'
import { encodingLimits } from './encoding-limits.js'

it.each<[Quality, number[], number, number, number]>([
  ['full', [0], 0, 1280 * 720, 2_000],
  ['full', [5_000], 0, 1280 * 720, 2_000],
  ['full', [800], 0, 1280 * 720, 800],
  ['full', [300, 800], 0, 1280 * 720, 800],
  ['full', [300, 0], 0, 1280 * 720, 2_000],
  ['full', [0], 600, 1280 * 720, 600],
  ['full', [300], 600, 1280 * 720, 300],
  ['full', [0], 9_000, 1280 * 720, 2_000],
  ['full', [], 0, 1280 * 720, 2_000],
  ['small', [0], 0, 640 * 360, 500],
  ['small', [300], 0, 640 * 360, 300],
  ['small', [999], 0, 640 * 360, 500],
  ['small', [1_000], 0, 960 * 540, 1_000],
  ['small', [3_000], 0, 960 * 540, 1_000],
  ['small', [1_000, 3_000], 0, 960 * 540, 1_000],
  ['small', [1_000, 300], 0, 640 * 360, 500],
  ['small', [1_000, 0], 0, 640 * 360, 500],
  ['small', [200, 300], 0, 640 * 360, 300],
  ['small', [1_000], 700, 960 * 540, 700],
  ['small', [], 0, 640 * 360, 500],
])(
  'a %s video for receivers with the limits %j kbps of one with %d kbps has at most %d pixels and %d kbps',
  (quality, receivers, published, ...most) => {
    const { maxPixels, maxKbps } = encodingLimits(quality, receivers, published)
    expect([maxPixels, maxKbps]).toEqual(most)
  },
)
