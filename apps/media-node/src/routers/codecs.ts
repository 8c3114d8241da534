import type { ForcedVideoCodec } from '@session-service/contract'
import type { types } from 'mediasoup'

type Codec = types.RouterRtpCodecCapability

const OPUS: Codec = { kind: 'audio', mimeType: 'audio/opus', clockRate: 48_000, channels: 2 }
const VP8: Codec = { kind: 'video', mimeType: 'video/VP8', clockRate: 90_000 }
const VP9: Codec = { kind: 'video', mimeType: 'video/VP9', clockRate: 90_000, parameters: { 'profile-id': 0 } }

const h264 = (profileLevelId: string): Codec => ({
  kind: 'video',
  mimeType: 'video/H264',
  clockRate: 90_000,
  parameters: { 'packetization-mode': 1, 'profile-level-id': profileLevelId, 'level-asymmetry-allowed': 1 },
})
/** Constrained baseline 3.1, the one profile that every browser must have. */
const H264_BASELINE = h264('42e01f')
const H264_MAIN = h264('4d0032')

const ANY = [OPUS, VP8, VP9, H264_BASELINE, H264_MAIN]

/** The codecs of a session's media. */
export interface RoomCodecs {
  videoCodec: ForcedVideoCodec
  /** Whether clients that cannot use the forced codec get transcoded video. */
  allowTranscoding: boolean
}

/** The video codec that clients have to use; undefined when none is forced. */
export const forcedMimeType = (codec: ForcedVideoCodec): string | undefined =>
  codec === 'NONE' || codec === 'MEDIA_SERVER_PREFERRED' ? undefined : `video/${codec}`

/** Without a forced codec always, with one if the session allows it. */
export const mayTranscode = ({ videoCodec, allowTranscoding }: RoomCodecs): boolean =>
  allowTranscoding || forcedMimeType(videoCodec) === undefined

const BY_NAME = { VP8, VP9, H264: H264_BASELINE }

/**
 * The codecs of a room's routers. When none is forced, each publisher uses its browser's preferred one. Otherwise the
 * forced codec is the first, which browsers take if they have it; H.264 is for cameras on the network, and with
 * transcoding H.264 and VP8 are for clients without the forced codec.
 */
export function routerCodecs({ videoCodec, allowTranscoding }: RoomCodecs): Codec[] {
  if (videoCodec === 'NONE' || videoCodec === 'MEDIA_SERVER_PREFERRED') return ANY
  const others = allowTranscoding ? [VP8, H264_BASELINE] : [H264_BASELINE]
  return [OPUS, ...new Set([BY_NAME[videoCodec], ...others])]
}
