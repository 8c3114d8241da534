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

/** The only video codec that clients may publish; undefined when none is forced. */
export const forcedMimeType = (codec: ForcedVideoCodec): string | undefined =>
  codec === 'NONE' || codec === 'MEDIA_SERVER_PREFERRED' ? undefined : `video/${codec}`

/**
 * The codecs of a room's routers. When none is forced, each publisher uses its browser's preferred one. All have H.264
 * for cameras on the network; the forced codec is the first, which browsers take.
 */
export const ROUTER_CODECS: Record<ForcedVideoCodec, readonly Codec[]> = {
  VP8: [OPUS, VP8, H264_BASELINE],
  VP9: [OPUS, VP9, H264_BASELINE],
  H264: [OPUS, H264_BASELINE],
  NONE: ANY,
  MEDIA_SERVER_PREFERRED: ANY,
}
