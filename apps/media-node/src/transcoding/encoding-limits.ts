import { SMALL_KBPS, type Quality } from '../rooms/transcoder.js'

interface EncodingLimits {
  maxPixels: number
  maxKbps: number
}

/** Larger videos are scaled down: an encoder for 1920×1080 would need more than two cores. */
const FULL = { maxPixels: 1280 * 720, maxKbps: 2_000 }
const SMALL = { maxPixels: 640 * 360, maxKbps: SMALL_KBPS }
/** For a receiver whose limit takes it. */
const MEDIUM = { maxPixels: 960 * 540, maxKbps: 1_000 }

/**
 * The size and bitrate of an encoded video.
 *
 * @param receiverKbps the limit of its first receiver; 0 = none
 */
export function encodingLimits(quality: Quality, receiverKbps: number): EncodingLimits {
  const { maxPixels, maxKbps } = quality === 'full' ? FULL : receiverKbps >= MEDIUM.maxKbps ? MEDIUM : SMALL
  return { maxPixels, maxKbps: Math.min(maxKbps, receiverKbps || maxKbps) }
}
