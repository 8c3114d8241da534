import type { Size } from './layout.js'

/** At which `KBPS` are spent: what people in front of cameras need at this size and rate. */
const REFERENCE = { pixels: 1280 * 720, frameRate: 25 }
const KBPS = 1_500
const LEAST_KBPS = 120
const MOST_KBPS = 12_000
export const AUDIO_KBPS = 96

/** Larger pictures and faster ones need less for each pixel. */
export function videoKbps({ width, height }: Size, frameRate: number): number {
  const size = ((width * height) / REFERENCE.pixels) ** 0.8
  const rate = (frameRate / REFERENCE.frameRate) ** 0.5
  return Math.round(Math.min(MOST_KBPS, Math.max(LEAST_KBPS, KBPS * size * rate)))
}

/** Pictures a little smaller than their box are enlarged: nobody sees it, and the next layer costs four times as much. */
const ENOUGH = 0.75

/**
 * The smallest simulcast layer that fills a box, 0 the smallest; each layer is twice as large as the one before.
 * @param largest size of the largest layer
 */
export function layerFor(box: Size, largest: Size, layers: number): number {
  const shown = Math.min(1, box.width / largest.width, box.height / largest.height)
  for (let layer = 0; layer < layers - 1; layer++) if (0.5 ** (layers - 1 - layer) >= shown * ENOUGH) return layer
  return layers - 1
}
