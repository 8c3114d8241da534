import type { types } from 'mediasoup'
import type { PublishedTrack } from '../tracks/published-track.js'
import type { Peer } from './peer.js'
import type { Stream } from './stream.js'
import { ServiceError } from '@session-service/contract'
import { targetCodec, type VideoCodec } from './target-codec.js'
import type { Quality, TrackInUse } from './transcoder.js'

/** A track for a subscription, and the quality of its video. */
interface ReceivableTrack extends TrackInUse {
  quality: Quality
}

/**
 * The track, or its video in a codec that the participant can decode, where that is allowed and the node can do it; or its
 * video in the small quality, if that is due.
 */
export async function decodableTrack(
  peer: Peer,
  stream: Stream,
  track: PublishedTrack,
  rtpCapabilities: types.RtpCapabilities,
): Promise<ReceivableTrack> {
  const { room, limits } = peer
  const original: ReceivableTrack = { track, release: () => undefined, quality: 'full' }
  if (track.kind === 'audio' || stream.publisher.adaptativeBitrate === false) return original
  // A camera cannot choose its codec, so the session's rule for clients does not apply.
  const transcoder = stream.publisher.adaptativeBitrate ? room.encoder : room.transcoder
  const canConsume = track.router.canConsume({ producerId: track.producer.id, rtpCapabilities })
  const codec = targetCodec({
    videoCodec: room.codecs.videoCodec,
    canConsume,
    decodes: (each) => canDecode(rtpCapabilities, each),
  })
  if (canConsume || (transcoder && codec)) {
    const small = await smallTrack(peer, stream, track, codec ?? codecOf(track))
    if (small) return small
  }
  if (!transcoder || !codec) return original
  const wanted = { stream, video: track, codec, quality: 'full', maxKbps: limits.maxRecvKbps } as const
  return { ...(await transcoder.acquire(wanted)), quality: 'full' }
}

/** Undefined when the participant is due to receive the original, or the node has no capacity for the small video. */
async function smallTrack(
  peer: Peer,
  stream: Stream,
  video: PublishedTrack,
  codec: VideoCodec | undefined,
): Promise<ReceivableTrack | undefined> {
  const { room, limits } = peer
  if (!room.encoder || !codec || room.qualityOf(stream, peer) === 'full') return undefined
  try {
    const wanted = { stream, video, codec, quality: 'small', maxKbps: limits.maxRecvKbps } as const
    return { ...(await room.encoder.acquire(wanted)), quality: 'small' }
  } catch (error) {
    if (!(error instanceof ServiceError) || error.code !== 'NO_CAPACITY') throw error
    room.smallRefused(stream, peer)
    return undefined
  }
}

const VIDEO_CODECS: readonly VideoCodec[] = ['VP8', 'VP9', 'H264']

const codecOf = ({ producer }: PublishedTrack): VideoCodec | undefined => {
  const mimeType = producer.rtpParameters.codecs[0]?.mimeType.toLowerCase()
  return VIDEO_CODECS.find((codec) => mimeType === `video/${codec}`.toLowerCase())
}

/** H.264 is sent with fragmented units (packetization mode 1). */
const canDecode = ({ codecs = [] }: types.RtpCapabilities, codec: VideoCodec): boolean =>
  codecs.some(
    ({ mimeType, parameters = {} }) =>
      mimeType.toLowerCase() === `video/${codec}`.toLowerCase() &&
      (codec !== 'H264' || Number(parameters['packetization-mode']) === 1),
  )
