import type { VideoLimits } from '../media-processor/media-processor.js'
import { SMALL_KBPS, type Quality } from '../rooms/transcoder.js'

/** Larger videos are scaled down: an encoder for 1920×1080 would need more than two cores. */
const FULL = { maxPixels: 1280 * 720, maxKbps: 2_000 }
const SMALL = { maxPixels: 640 * 360, maxKbps: SMALL_KBPS }
/** For receivers whose limits take it. */
const MEDIUM = { maxPixels: 960 * 540, maxKbps: 1_000 }

/**
 * The size and bitrate of an encoded video: what its most demanding receiver needs. A small video is larger only while no
 * receiver has it because of its network.
 *
 * @param receiversKbps the limits of its receivers; 0 = none
 * @param publishedKbps the maximum of the published video; 0 = unknown
 */
export function encodingLimits(quality: Quality, receiversKbps: readonly number[], publishedKbps: number): VideoLimits {
  const takeMedium = receiversKbps.length > 0 && receiversKbps.every((kbps) => kbps >= MEDIUM.maxKbps)
  const { maxPixels, maxKbps } = quality === 'full' ? FULL : takeMedium ? MEDIUM : SMALL
  const largest = Math.max(0, ...receiversKbps.map((kbps) => kbps || Infinity))
  return { maxPixels, maxKbps: Math.min(maxKbps, largest || Infinity, publishedKbps || Infinity) }
}
