import type { BandwidthLimits, Layers } from '@session-service/contract'

/** Bits per second; 0 = unconstrained. */
export interface TransportBitrates {
  max: number
  min: number
}

/** The allowance of an audio track (Opus with headers) on top of the video limits. */
const AUDIO_KBPS = 64
/** The least that mediasoup accepts. */
const FLOOR_BPS = 30_000
const CEILING_BPS = 1_000_000_000

/** The initial estimate of the outgoing bandwidth; the bandwidth estimation corrects it within two seconds. */
export const INITIAL_OUTGOING_BPS = 1_000_000

/** The limit of a transport as a multiple of the maximum of a simulcast track on it. */
const SIMULCAST_HEADROOM = 1.25

interface TrackCounts {
  audio: number
  video: number
}

/** The published tracks of a participant, as input of its bandwidth limit. */
export interface Published {
  audio: number
  /** The maximum of each video track in kbps, 0 = unconstrained. */
  videoMaxKbps: readonly number[]
}

/** The configured limits apply to one stream; a transport carries all streams of its direction. */
const maximum = (videoKbps: number, audioTracks: number): number =>
  videoKbps === 0 ? 0 : Math.min(CEILING_BPS, Math.max(FLOOR_BPS, (videoKbps + AUDIO_KBPS * audioTracks) * 1000))

/**
 * The receivers' limit for the publisher of a stream: their lowest maximum if it is below the publisher's own, or else
 * 0.
 */
export const sendLimit = (ownMaxKbps: number, lowestReceiverKbps: number): number =>
  ownMaxKbps > 0 && lowestReceiverKbps >= ownMaxKbps ? 0 : lowestReceiverKbps

/**
 * The transport limit for a simulcast track. The client keeps the sum of its layers to the maximum. A browser
 * resumes a layer that it has dropped only when its bandwidth estimate exceeds the sum of the layers plus headers and
 * retransmissions. A limit equal to that sum would hold the estimate below it, and the layer would never come back.
 */
export const simulcastLimit = (maxKbps: number): number => Math.ceil(maxKbps * SIMULCAST_HEADROOM)

/**
 * The maximum for the send transport of a participant. The server enforces it by REMB messages, which browsers obey.
 * One track without a maximum removes the limit of the transport; then only the client limits the other tracks.
 */
export function incomingMaximum({ maxSendKbps }: BandwidthLimits, { audio, videoMaxKbps }: Published): number {
  if (videoMaxKbps.length === 0) return maximum(maxSendKbps, audio)
  if (videoMaxKbps.includes(0)) return 0
  const total = videoMaxKbps.reduce((sum, kbps) => sum + kbps, 0)
  return maximum(total, audio)
}

/**
 * The bitrates for the receive transport of a participant. The minimum is the floor of the bandwidth estimate of the
 * whole path, not per stream: multiplied, it would congest a narrow path.
 *
 * @param neededKbps what tracks need that are sent at any bandwidth; the worker does not start them below it
 */
export function outgoingBitrates(limits: BandwidthLimits, subscribed: TrackCounts, neededKbps = 0): TransportBitrates {
  const needed = Math.min(CEILING_BPS, neededKbps * 1000)
  const max = maximum(limits.maxRecvKbps * Math.max(1, subscribed.video), subscribed.audio)
  const min = limits.minRecvKbps === 0 ? 0 : Math.min(CEILING_BPS, Math.max(FLOOR_BPS, limits.minRecvKbps * 1000))
  if (max === 0) return { max, min: Math.max(min, needed) }
  return { max: Math.max(max, needed), min: Math.max(Math.min(min, max), needed) }
}

/**
 * The highest active simulcast layer that fits the receiver's limit, by the maxima that the publisher declares;
 * undefined = no restriction.
 */
export function fittingLayer(layerKbps: readonly (number | undefined)[], maxRecvKbps: number): number | undefined {
  if (layerKbps.length < 2) return undefined
  const limit = maxRecvKbps || Infinity
  const top = layerKbps.findLastIndex((kbps) => kbps === undefined || (kbps > 0 && kbps <= limit))
  if (top === layerKbps.length - 1) return undefined
  return Math.max(0, top)
}

/** The preferred layers of a subscriber, restricted to those that its limit allows. */
export const allowedLayers = (wanted: Layers, ceiling: number | undefined): Layers =>
  ceiling === undefined ? wanted : { ...wanted, spatialLayer: Math.min(wanted.spatialLayer, ceiling) }
