import type { BandwidthLimits, Layers } from '@session-service/contract'

/** Bits per second; 0 = unconstrained. */
export interface TransportBitrates {
  max: number
  min: number
}

/** What one audio track may take beside the video that the limits are about: Opus with its headers. */
const AUDIO_KBPS = 64
/** mediasoup refuses less. */
const FLOOR_BPS = 30_000
const CEILING_BPS = 1_000_000_000

/** A first guess at the way to a participant; estimation takes over from here within a second or two. */
export const INITIAL_OUTGOING_BPS = 1_000_000

/** How far the limit of a transport lies above the maximum of a simulcast track on it. */
const SIMULCAST_HEADROOM = 1.25

export interface TrackCounts {
  audio: number
  video: number
}

/** What a participant publishes, as far as its bandwidth is concerned. */
export interface Published {
  audio: number
  /** The maximum of each video track in kbps, 0 = unconstrained. */
  videoMaxKbps: readonly number[]
}

/** The limits hold for one stream, a transport carries all streams of its direction. */
const maximum = (videoKbps: number, audioTracks: number): number =>
  videoKbps === 0 ? 0 : Math.min(CEILING_BPS, Math.max(FLOOR_BPS, (videoKbps + AUDIO_KBPS * audioTracks) * 1000))

/**
 * The maximum that the receivers of a stream put on its publisher: the lowest of theirs where it is below the
 * publisher's own, else 0.
 */
export const sendLimit = (ownMaxKbps: number, lowestReceiverKbps: number): number =>
  ownMaxKbps > 0 && lowestReceiverKbps >= ownMaxKbps ? 0 : lowestReceiverKbps

/**
 * What the transport lets through of a simulcast track. The client keeps the sum of its layers to the maximum. A browser
 * resumes a layer that it has dropped only when its bandwidth estimate exceeds the sum of the layers plus headers and
 * retransmissions. A limit equal to that sum would hold the estimate below it, and the layer would never come back.
 */
export const simulcastLimit = (maxKbps: number): number => Math.ceil(maxKbps * SIMULCAST_HEADROOM)

/**
 * What a participant may send over its transport, whatever its client does: browsers obey the REMB messages that carry
 * it. One track without a maximum leaves the transport without one; then only the client can keep to the others.
 */
export function incomingMaximum({ maxSendKbps }: BandwidthLimits, { audio, videoMaxKbps }: Published): number {
  if (videoMaxKbps.length === 0) return maximum(maxSendKbps, audio)
  if (videoMaxKbps.includes(0)) return 0
  const total = videoMaxKbps.reduce((sum, kbps) => sum + kbps, 0)
  return maximum(total, audio)
}

/**
 * What is sent to a participant. The minimum is the floor of the estimate of the whole way to it, not times its
 * streams: on a narrow way that would choke what the floor is meant to keep.
 */
export function outgoingBitrates(limits: BandwidthLimits, subscribed: TrackCounts): TransportBitrates {
  const max = maximum(limits.maxRecvKbps * Math.max(1, subscribed.video), subscribed.audio)
  const min = limits.minRecvKbps === 0 ? 0 : Math.min(CEILING_BPS, Math.max(FLOOR_BPS, limits.minRecvKbps * 1000))
  return { max, min: max === 0 ? min : Math.min(min, max) }
}

/**
 * The highest simulcast layer that is sent and of which one stream fits the limit, by what the publisher says it sends
 * at most; undefined = no reason to hold anything back.
 */
export function fittingLayer(layerKbps: readonly (number | undefined)[], maxRecvKbps: number): number | undefined {
  if (layerKbps.length < 2) return undefined
  const limit = maxRecvKbps || Infinity
  const top = layerKbps.findLastIndex((kbps) => kbps === undefined || (kbps > 0 && kbps <= limit))
  if (top === layerKbps.length - 1) return undefined
  return Math.max(0, top)
}

/** A subscriber chooses among the layers that its limit allows. */
export const allowedLayers = (wanted: Layers, ceiling: number | undefined): Layers =>
  ceiling === undefined ? wanted : { ...wanted, spatialLayer: Math.min(wanted.spatialLayer, ceiling) }
