import type { Size } from './layout.js'

/** `KBPS` is sufficient for camera pictures at this size and frame rate. */
const REFERENCE = { pixels: 1280 * 720, frameRate: 25 }
const KBPS = 1_500
const LEAST_KBPS = 120
const MOST_KBPS = 12_000
export const AUDIO_KBPS = 96

/** Larger pictures and higher frame rates need fewer bits per pixel. */
export function videoKbps({ width, height }: Size, frameRate: number): number {
  const size = ((width * height) / REFERENCE.pixels) ** 0.8
  const rate = (frameRate / REFERENCE.frameRate) ** 0.5
  return Math.round(Math.min(MOST_KBPS, Math.max(LEAST_KBPS, KBPS * size * rate)))
}

/** A slightly smaller picture is enlarged: it is not visible, and the next layer costs four times as much. */
const MIN_SCALE = 0.75

/**
 * The smallest simulcast layer that fills a box, 0 the smallest; each layer is twice as large as the one before.
 * @param largest size of the largest layer
 */
export function layerFor(box: Size, largest: Size, layers: number): number {
  const shown = Math.min(1, box.width / largest.width, box.height / largest.height)
  for (let layer = 0; layer < layers - 1; layer++) if (0.5 ** (layers - 1 - layer) >= shown * MIN_SCALE) return layer
  return layers - 1
}
