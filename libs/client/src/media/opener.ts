import type { types } from 'mediasoup-client'

/** The id of the track in mediasoup-client, and the media id of its section. */
const OPENER = 'opener'

/**
 * A track that the server never sends. mediasoup-client starts ICE and DTLS of a receiving transport with its first track;
 * this one is known before the first answer to `subscribe`. Undefined without a common audio codec.
 */
export function openerTrack({ codecs = [] }: types.RtpCapabilities): types.ConsumerOptions | undefined {
  const codec = codecs.find(({ kind, preferredPayloadType }) => kind === 'audio' && preferredPayloadType !== undefined)
  if (codec?.preferredPayloadType === undefined) return undefined
  const { mimeType, preferredPayloadType: payloadType, clockRate, channels, parameters } = codec
  const rtpParameters = {
    mid: OPENER,
    codecs: [{ mimeType, payloadType, clockRate, ...(channels && { channels }), ...(parameters && { parameters }) }],
    headerExtensions: [],
    encodings: [{ ssrc: 1 }],
    rtcp: { cname: OPENER },
  }
  return { id: OPENER, producerId: OPENER, kind: 'audio', streamId: OPENER, rtpParameters }
}

/** The statistics without those of the opener. */
export function withoutOpener(report: RTCStatsReport): RTCStatsReport {
  const entries = [...(report as Iterable<[string, { mid?: string }]>)]
  return new Map(entries.filter(([, { mid }]) => mid !== OPENER))
}
