import {
  type DtlsParameters,
  type MediaKind,
  ServiceError,
  type SubscribedTrack,
  type TransportOptions,
} from '@session-service/contract'
import type { types } from 'mediasoup-client'
import { isRefused, readDtlsParameters, readSdp } from './read-sdp.js'
import { remoteSdp } from './remote-sdp.js'

/** The client's part of a subscription. */
interface SubscribeAnswer {
  dtlsParameters: DtlsParameters
  /** The kinds that the client does not receive: it has no codec for them. */
  rejected: MediaKind[]
  /** The mids of the offer that it answers. */
  mids: string[]
}

/** The offer of the tracks of one stream. */
export function writeSubscribeOffer(tracks: readonly SubscribedTrack[], transport: TransportOptions): string {
  const remote = remoteSdp(transport, 'auto')
  for (const [index, { id, kind, rtpParameters }] of tracks.entries()) {
    remote.receive({
      mid: rtpParameters.mid ?? String(index),
      kind,
      offerRtpParameters: withLists(rtpParameters),
      // Tracks of the same stream are played in sync.
      streamId: rtpParameters.rtcp?.cname ?? '-',
      trackId: id,
    })
  }
  return remote.getSdp()
}

/** @throws ServiceError INVALID, or CODEC_REFUSED when the client rejects all tracks */
export function readSubscribeAnswer(sdpAnswer: string): SubscribeAnswer {
  const { session, sections } = readSdp('sdpAnswer', sdpAnswer)
  const rejected = sections.filter(isRefused).map(({ type }) => type)
  if (rejected.length === sections.length) {
    throw new ServiceError('CODEC_REFUSED', 'sdpAnswer: the client receives no track of the stream')
  }
  return { dtlsParameters: readDtlsParameters('sdpAnswer', session), rejected, mids: sections.map(({ mid }) => mid) }
}

/** The library requires lists and members that the schema leaves out when they are empty. */
const withLists = ({ codecs, headerExtensions = [], rtcp = {}, ...rest }: SubscribedTrack['rtpParameters']) =>
  ({
    ...rest,
    codecs: codecs.map((codec) => ({ ...codec, rtcpFeedback: codec.rtcpFeedback ?? [] })),
    headerExtensions,
    rtcp,
  }) as types.RtpParameters
