import type { TypeOfVideo } from '@session-service/contract'

/** The properties and limits of a video track to send. Size and frame rate may be unknown (0). */
export interface VideoToSend {
  readonly width: number
  readonly height: number
  readonly frameRate: number
  readonly typeOfVideo: TypeOfVideo
  readonly simulcast: boolean
  /** The limit of the connection for all layers together; 0 = unconstrained. */
  readonly maxSendKbps: number
  /** The lowest maximum of its receivers; 0 = none. With simulcast it limits only the lowest layer. */
  readonly receiverMaxKbps: number
}

/** The properties that may change after the negotiation. */
export type Video = Omit<VideoToSend, 'simulcast'>

/** A part of `RTCRtpEncodingParameters`. */
export interface Encoding {
  readonly maxBitrate?: number
  readonly scaleResolutionDownBy?: number
}

/** The change of a negotiated encoding. */
export interface EncodingChange extends Encoding {
  readonly active: boolean
  readonly scaleResolutionDownBy: number
}

/**
 * The downscaling of each layer, by the number of pixels. With more layers than a browser considers useful for a size,
 * it leaves out the largest one, which has the full size.
 */
const SCALES: readonly (readonly [minPixels: number, scales: readonly number[]])[] = [
  [960 * 540, [4, 2, 1]],
  [480 * 270, [2, 1]],
  [0, [1]],
]
const scalesFor = (pixels: number): readonly number[] => SCALES.find(([minPixels]) => pixels >= minPixels)?.[1] ?? [1]

const BITS_PER_PIXEL = 0.07
const MIN_KBPS = 30
const MIN_SIMULCAST_KBPS = 200
const SCREEN_KBPS = 2_500

/** The useful bit rate of a moving picture of this size, kbps. */
function usefulKbps(width: number, height: number, frameRate: number): number {
  const kbps = (width * height * (frameRate || 30) * BITS_PER_PIXEL) / 1_000
  return Math.round(Math.min(Math.max(kbps, 80), 2_500))
}

/** The bit rates of the layers, smallest first, kbps; scaled down to a total of `limit` unless it is 0. */
function layerKbps(wanted: readonly number[], limit: number): number[] {
  const total = wanted.reduce((sum, kbps) => sum + kbps, 0)
  if (limit === 0 || total <= limit) return [...wanted]
  const lower = wanted.slice(0, -1).map((kbps) => Math.max(MIN_KBPS, Math.floor((kbps * limit) / total)))
  return [...lower, limit - lower.reduce((sum, kbps) => sum + kbps, 0)]
}

/** The lower of two limits (0 = none), but not below the minimum that a browser needs to send video. */
function lowerLimit(one: number, other: number): number {
  if (one === 0 && other === 0) return 0
  return Math.max(MIN_KBPS, Math.min(one || Infinity, other || Infinity))
}

/** One encoding of the full size. Without a limit the browser chooses the bit rate of a camera. */
function single({ maxSendKbps, receiverMaxKbps, typeOfVideo }: Video): Encoding[] {
  const kbps = lowerLimit(maxSendKbps || (typeOfVideo === 'SCREEN' ? SCREEN_KBPS : 0), receiverMaxKbps)
  return [kbps > 0 ? { maxBitrate: kbps * 1_000 } : {}]
}

/** As many layers as the size permits, at least one and at most `count`, smallest first. */
function layers(video: Video, count: number): EncodingChange[] {
  const [width, height] = [video.width || 640, video.height || 480]
  const scales = scalesFor(width * height).slice(-count)
  const wanted = scales.map((scale) => usefulKbps(width / scale, height / scale, video.frameRate))
  const [lowest = 0, ...others] = layerKbps(wanted, video.maxSendKbps)
  const kbps = [lowerLimit(lowest, video.receiverMaxKbps), ...others]
  return scales.map((scale, layer) => ({
    active: true,
    scaleResolutionDownBy: scale,
    maxBitrate: (kbps[layer] ?? 0) * 1_000,
  }))
}

/**
 * The encodings of a video track, smallest layer first. With simulcast a camera gets three at 4:2:1 from 960x540, two at
 * 2:1 from 480x270, else one. A limit applies to all layers together; a limit too low for simulcast yields one encoding.
 */
export function videoEncodings(video: VideoToSend): Encoding[] {
  const { maxSendKbps, typeOfVideo } = video
  const tooLow = maxSendKbps > 0 && maxSendKbps < MIN_SIMULCAST_KBPS
  const encodings = layers(video, SCALES.length)
  if (!video.simulcast || typeOfVideo === 'SCREEN' || tooLow || encodings.length === 1) return single(video)
  return encodings.map(({ scaleResolutionDownBy, maxBitrate = 0 }) => ({ scaleResolutionDownBy, maxBitrate }))
}

/**
 * The encodings for a sender with a negotiated number of encodings: those for which the video is too small are inactive.
 * The lowest ones stay active, because browsers leave out the highest ones of a small video.
 */
export function fittedEncodings(video: Video, count: number): EncodingChange[] {
  if (count === 1) return single(video).map((encoding) => ({ active: true, scaleResolutionDownBy: 1, ...encoding }))
  const used = layers(video, count)
  return Array.from({ length: count }, (_, layer) => used[layer] ?? { active: false, scaleResolutionDownBy: 1 })
}
