import type { types } from 'mediasoup'
import type { PublishedTrack } from '../tracks/published-track.js'
import type { Peer } from './peer.js'
import type { Stream } from './stream.js'
import { targetCodec, type VideoCodec } from './target-codec.js'
import type { TrackInUse } from './transcoder.js'

/**
 * The track, or its video in a codec that the participant can decode, where the session allows transcoding and the node
 * can do it.
 */
export async function decodableTrack(
  { room, limits }: Peer,
  stream: Stream,
  track: PublishedTrack,
  rtpCapabilities: types.RtpCapabilities,
): Promise<TrackInUse> {
  const { transcoder, codecs } = room
  const codec =
    track.kind === 'video' && transcoder
      ? targetCodec({
          videoCodec: codecs.videoCodec,
          canConsume: track.router.canConsume({ producerId: track.producer.id, rtpCapabilities }),
          decodes: (each) => canDecode(rtpCapabilities, each),
        })
      : undefined
  if (!transcoder || !codec) return { track, release: () => undefined }
  return transcoder.acquire({ stream, video: track, codec, maxKbps: limits.maxRecvKbps })
}

/** H.264 is sent with fragmented units (packetization mode 1). */
const canDecode = ({ codecs = [] }: types.RtpCapabilities, codec: VideoCodec): boolean =>
  codecs.some(
    ({ mimeType, parameters = {} }) =>
      mimeType.toLowerCase() === `video/${codec}`.toLowerCase() &&
      (codec !== 'H264' || Number(parameters['packetization-mode']) === 1),
  )
