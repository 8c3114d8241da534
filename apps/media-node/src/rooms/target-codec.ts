import type { ForcedVideoCodec } from '@session-service/contract'

/** The codecs into which video is transcoded. */
export type VideoCodec = Exclude<ForcedVideoCodec, 'NONE' | 'MEDIA_SERVER_PREFERRED'>

interface Receiver {
  /** The session's codec. */
  videoCodec: ForcedVideoCodec
  /** The client can decode the published video. */
  canConsume: boolean
  /** The video codecs that the client can decode. */
  decodes: (codec: VideoCodec) => boolean
}

/** The codec into which a video is transcoded for a client; undefined when it can decode the video, or no codec at all. */
export function targetCodec({ videoCodec, canConsume, decodes }: Receiver): VideoCodec | undefined {
  if (canConsume) return undefined
  const forced = videoCodec === 'NONE' || videoCodec === 'MEDIA_SERVER_PREFERRED' ? [] : [videoCodec]
  return [...forced, 'VP8' as const, 'H264' as const].find(decodes)
}
