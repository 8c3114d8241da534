import { expect, it } from '@jest/globals'
import { silentMs } from './camera-reader.js'

it.each([
  [500, 10_000],
  [5_000, 10_000],
  [60_000, 120_000],
])('with a timeout of %d ms for the camera, its program is killed after %d ms of silence', (timeoutMs, limitMs) => {
  expect(silentMs(timeoutMs)).toBe(limitMs)
})
