import { expect, it } from '@jest/globals'
import type { Quality } from '../rooms/transcoder.js'
import { encodingLimits } from './encoding-limits.js'

it.each<[Quality, number, number, number]>([
  ['full', 0, 1280 * 720, 2_000],
  ['full', 5_000, 1280 * 720, 2_000],
  ['full', 800, 1280 * 720, 800],
  ['small', 0, 640 * 360, 500],
  ['small', 300, 640 * 360, 300],
  ['small', 999, 640 * 360, 500],
  ['small', 1_000, 960 * 540, 1_000],
  ['small', 3_000, 960 * 540, 1_000],
])('a %s video for a receiver with a limit of %d kbps has at most %d pixels and %d kbps', (quality, limit, ...most) => {
  const { maxPixels, maxKbps } = encodingLimits(quality, limit)
  expect([maxPixels, maxKbps]).toEqual(most)
})
