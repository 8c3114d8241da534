import type { MediaKind, RtpCapabilities, RtpParameters } from '@session-service/contract'
import { EXTENSION } from './rtp-sender.js'

type Codec = RtpCapabilities['codecs'][number]

const CODEC_OF: Record<MediaKind, string> = { audio: 'audio/opus', video: 'video/VP8' }
/**
 * The feedback mechanisms that this peer supports, as browsers do. (No REMB, because it does not affect the bandwidth
 * estimation of mediasoup 3.27.)
 */
const FEEDBACK: Record<MediaKind, readonly string[]> = {
  audio: ['transport-cc'],
  video: ['nack', 'nack pli', 'ccm fir', 'transport-cc'],
}
const SENDING_EXTENSIONS: Record<MediaKind, readonly string[]> = {
  audio: [EXTENSION.mid, EXTENSION.audioLevel, EXTENSION.transportSequence],
  video: [EXTENSION.mid, EXTENSION.rid, EXTENSION.transportSequence],
}
const RECEIVING_EXTENSIONS = new Set<string>([EXTENSION.mid, EXTENSION.audioLevel, EXTENSION.transportSequence])

const feedbackName = ({ type, parameter }: { type: string; parameter?: string | undefined }): string =>
  parameter ? `${type} ${parameter}` : type

/** Returns the router's codec for a kind; throws and names the offered codecs without a match. */
function codecOf(capabilities: RtpCapabilities, kind: MediaKind): Codec {
  const wanted = CODEC_OF[kind]
  const codec = capabilities.codecs.find(({ mimeType }) => mimeType.toLowerCase() === wanted.toLowerCase())
  if (codec) return codec
  const offered = capabilities.codecs.filter((other) => other.kind === kind).map(({ mimeType }) => mimeType)
  throw new Error(
    `the router has no ${wanted}, the only codec of a synthetic participant; it has ${offered.join(', ')}`,
  )
}

const withFeedback = (codec: Codec): NonNullable<Codec['rtcpFeedback']> =>
  (codec.rtcpFeedback ?? []).filter((feedback) => FEEDBACK[codec.kind].includes(feedbackName(feedback)))

export interface EncodingOffer {
  readonly ssrc: number
  readonly rid?: string
  /** Bits per second. */
  readonly maxBitrate?: number
  readonly scaleResolutionDownBy?: number
  readonly scalabilityMode?: string
}

interface ProducerOffer {
  readonly kind: MediaKind
  readonly mid: string
  readonly cname: string
  readonly encodings: readonly EncodingOffer[]
}

/** The parameters of a track for `publish`: the router's codec and the used header extensions. */
export function producerParameters(capabilities: RtpCapabilities, offer: ProducerOffer): RtpParameters {
  const codec = codecOf(capabilities, offer.kind)
  const wanted = SENDING_EXTENSIONS[offer.kind]
  return {
    mid: offer.mid,
    codecs: [
      {
        mimeType: codec.mimeType,
        payloadType: codec.preferredPayloadType,
        clockRate: codec.clockRate,
        ...(codec.channels === undefined ? {} : { channels: codec.channels }),
        parameters: offer.kind === 'audio' ? { useinbandfec: 0, usedtx: 0 } : {},
        rtcpFeedback: withFeedback(codec),
      },
    ],
    headerExtensions: capabilities.headerExtensions
      .filter(({ kind, uri }) => kind === offer.kind && wanted.includes(uri))
      .map(({ uri, preferredId }) => ({ uri, id: preferredId })),
    encodings: offer.encodings.map((encoding) => ({ ...encoding })),
    rtcp: { cname: offer.cname, reducedSize: true, mux: true },
  }
}

/** The receiving capabilities: without retransmission streams, so that lost packets are repeated unchanged. */
export function receiverCapabilities(
  capabilities: RtpCapabilities,
  videoCodecs: readonly string[] = ['VP8'],
): RtpCapabilities {
  const known = new Set(['audio/opus', ...videoCodecs.map((codec) => `video/${codec.toLowerCase()}`)])
  return {
    codecs: capabilities.codecs
      .filter(({ mimeType }) => known.has(mimeType.toLowerCase()))
      .map((codec) => ({ ...codec, rtcpFeedback: withFeedback(codec) })),
    headerExtensions: capabilities.headerExtensions.filter(({ uri }) => RECEIVING_EXTENSIONS.has(uri)),
  }
}

/** The id of a header extension of the router; undefined if it does not support the extension. */
export const extensionId = (capabilities: RtpCapabilities, uri: string): number | undefined =>
  capabilities.headerExtensions.find((extension) => extension.uri === uri)?.preferredId
