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

export interface TrackCounts {
  audio: number
  video: number
}

/** The limits hold for one stream, a transport carries all streams of its direction. */
const maximum = (kbpsPerStream: number, tracks: TrackCounts): number =>
  kbpsPerStream === 0
    ? 0
    : Math.min(
        CEILING_BPS,
        Math.max(FLOOR_BPS, (kbpsPerStream * Math.max(1, tracks.video) + AUDIO_KBPS * tracks.audio) * 1000),
      )

/**
 * What a participant may send: told to its browser, which obeys. A minimum can not be forced on a sender; its
 * library asks the encoder for it.
 */
export const incomingMaximum = (limits: BandwidthLimits, published: TrackCounts): number =>
  maximum(limits.maxSendKbps, published)

/**
 * What is sent to a participant. The minimum is the floor of the estimate of the whole way to it, not times its
 * streams: on a narrow way that would choke what the floor is meant to keep.
 */
export function outgoingBitrates(limits: BandwidthLimits, subscribed: TrackCounts): TransportBitrates {
  const max = maximum(limits.maxRecvKbps, subscribed)
  const min = limits.minRecvKbps === 0 ? 0 : Math.min(CEILING_BPS, Math.max(FLOOR_BPS, limits.minRecvKbps * 1000))
  return { max, min: max === 0 ? min : Math.min(min, max) }
}

/**
 * The highest simulcast layer of which one stream fits the limit, by what the publisher says it sends at most;
 * undefined = no reason to hold anything back.
 */
export function fittingLayer(encodings: readonly { maxBitrate?: number }[], maxRecvKbps: number): number | undefined {
  if (maxRecvKbps === 0 || encodings.length < 2) return undefined
  const top = encodings.findLastIndex(({ maxBitrate }) => maxBitrate === undefined || maxBitrate <= maxRecvKbps * 1000)
  if (top === encodings.length - 1) return undefined
  return Math.max(0, top)
}

/** A subscriber chooses among the layers that its limit allows. */
export const allowedLayers = (wanted: Layers, ceiling: number | undefined): Layers =>
  ceiling === undefined ? wanted : { ...wanted, spatialLayer: Math.min(wanted.spatialLayer, ceiling) }
