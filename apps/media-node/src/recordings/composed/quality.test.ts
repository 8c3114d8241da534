import { expect, it } from '@jest/globals'
import { layerFor, videoKbps } from './quality.js'

it.each([
  [{ width: 1280, height: 720 }, 25, 1_500],
  [{ width: 640, height: 360 }, 25, 495],
  [{ width: 1920, height: 1080 }, 30, 3_144],
  [{ width: 100, height: 100 }, 1, 120],
  [{ width: 1998, height: 1998 }, 120, 10_618],
])('%j at %d is given %d kbps', (size, frameRate, kbps) => {
  expect(videoKbps(size, frameRate)).toBe(kbps)
})

const camera = { width: 1280, height: 720 }
it.each([
  [{ width: 1280, height: 720 }, 3, 2],
  [{ width: 900, height: 720 }, 3, 2],
  [{ width: 638, height: 358 }, 3, 1],
  [{ width: 420, height: 236 }, 3, 0],
  [{ width: 100, height: 60 }, 3, 0],
  [{ width: 100, height: 60 }, 1, 0],
  [{ width: 1998, height: 1998 }, 3, 2],
  [{ width: 640, height: 360 }, 2, 0],
])('a box of %j takes of %d layers the one numbered %d', (box, layers, layer) => {
  expect(layerFor(box, camera, layers)).toBe(layer)
})
