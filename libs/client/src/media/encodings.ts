import type { TypeOfVideo } from '@session-service/contract'

/** What a video track is sent as. Frames a second and pixels may be unknown (0). */
export interface VideoToSend {
  readonly width: number
  readonly height: number
  readonly frameRate: number
  readonly typeOfVideo: TypeOfVideo
  readonly simulcast: boolean
  /** Of the connection, for all layers together; 0 = unconstrained. */
  readonly maxSendKbps: number
  /** The lowest maximum of its receivers; 0 = none. Simulcast keeps to it with its lowest layer. */
  readonly receiverMaxKbps: number
}

/** …without what is fixed once it has been negotiated. */
export type Video = Omit<VideoToSend, 'simulcast'>

/** A part of `RTCRtpEncodingParameters`. */
export interface Encoding {
  readonly maxBitrate?: number
  readonly scaleResolutionDownBy?: number
}

/** What an encoding that was negotiated already is changed to. */
export interface EncodingChange extends Encoding {
  readonly active: boolean
  readonly scaleResolutionDownBy: number
}

/**
 * How much smaller each layer is, by the pixels of the picture: browsers leave out the largest of more layers than
 * they think a picture is worth, which would be the full size.
 */
const SCALES: readonly (readonly [leastPixels: number, scales: readonly number[]])[] = [
  [960 * 540, [4, 2, 1]],
  [480 * 270, [2, 1]],
  [0, [1]],
]
const scalesFor = (pixels: number): readonly number[] => SCALES.find(([least]) => pixels >= least)?.[1] ?? [1]

const BITS_PER_PIXEL = 0.07
const LEAST_KBPS = 30
const LEAST_SIMULCAST_KBPS = 200
const SCREEN_KBPS = 2_500

/** What a moving picture of that size is worth sending, kbps. */
function usefulKbps(width: number, height: number, frameRate: number): number {
  const kbps = (width * height * (frameRate || 30) * BITS_PER_PIXEL) / 1_000
  return Math.round(Math.min(Math.max(kbps, 80), 2_500))
}

/** Kbps of the layers, smallest first; together within `limit` when there is one. */
function layerKbps(wanted: readonly number[], limit: number): number[] {
  const total = wanted.reduce((sum, kbps) => sum + kbps, 0)
  if (limit === 0 || total <= limit) return [...wanted]
  const lower = wanted.slice(0, -1).map((kbps) => Math.max(LEAST_KBPS, Math.floor((kbps * limit) / total)))
  return [...lower, limit - lower.reduce((sum, kbps) => sum + kbps, 0)]
}

/** The lower of two limits, where 0 is none; never so low that a browser could send nothing with it. */
function lowerLimit(one: number, other: number): number {
  if (one === 0 && other === 0) return 0
  return Math.max(LEAST_KBPS, Math.min(one || Infinity, other || Infinity))
}

/** One encoding for all of the picture; without a limit a camera's is left to the browser. */
function single({ maxSendKbps, receiverMaxKbps, typeOfVideo }: Video): Encoding[] {
  const kbps = lowerLimit(maxSendKbps || (typeOfVideo === 'SCREEN' ? SCREEN_KBPS : 0), receiverMaxKbps)
  return [kbps > 0 ? { maxBitrate: kbps * 1_000 } : {}]
}

/** At most `count` layers, smallest first, as far as the picture is large enough for them: at least one. */
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
 * The encodings of a video track, smallest layer first: for simulcast of a camera three at 4:2:1 from 960x540, two at
 * 2:1 from 480x270, else one. With a limit all layers together keep to it; one that is too low for layers gives one.
 */
export function videoEncodings(video: VideoToSend): Encoding[] {
  const { maxSendKbps, typeOfVideo } = video
  const tooLow = maxSendKbps > 0 && maxSendKbps < LEAST_SIMULCAST_KBPS
  const made = layers(video, SCALES.length)
  if (!video.simulcast || typeOfVideo === 'SCREEN' || tooLow || made.length === 1) return single(video)
  return made.map(({ scaleResolutionDownBy, maxBitrate = 0 }) => ({ scaleResolutionDownBy, maxBitrate }))
}

/**
 * The same for a sender whose number of encodings is fixed since its negotiation: those that the picture is too small
 * for are not sent. The lowest ones are used, since browsers leave out the others when they find a picture small.
 */
export function fittedEncodings(video: Video, count: number): EncodingChange[] {
  if (count === 1) return single(video).map((encoding) => ({ active: true, scaleResolutionDownBy: 1, ...encoding }))
  const used = layers(video, count)
  return Array.from({ length: count }, (_, layer) => used[layer] ?? { active: false, scaleResolutionDownBy: 1 })
}
