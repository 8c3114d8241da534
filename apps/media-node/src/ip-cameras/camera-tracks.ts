import { randomInt } from 'node:crypto'
import type { MediaKind, NodeCommandCall } from '@session-service/contract'

type Track = NodeCommandCall<'publish'>['tracks'][number]

const PAYLOAD_TYPE: Record<MediaKind, number> = { audio: 97, video: 96 }
const CODEC: Record<MediaKind, Omit<Track['rtpParameters']['codecs'][number], 'payloadType'>> = {
  audio: { mimeType: 'audio/opus', clockRate: 48_000, channels: 2 },
  // Constrained baseline 3.1 for every camera: decoders take the profile from the stream, and ignore this.
  video: {
    mimeType: 'video/H264',
    clockRate: 90_000,
    parameters: { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 },
  },
}

/** The form in which a camera's program sends a kind. */
export interface CameraTrack {
  track: Track
  ssrc: number
  payloadType: number
}

/** Both tracks have the same CNAME, so that receivers synchronise them. */
export function cameraTrack(kind: MediaKind, cname: string): CameraTrack {
  const [ssrc, payloadType] = [randomInt(1, 0xffff_ffff), PAYLOAD_TYPE[kind]]
  const rtpParameters = { codecs: [{ ...CODEC[kind], payloadType }], encodings: [{ ssrc }], rtcp: { cname } }
  return { track: { kind, rtpParameters }, ssrc, payloadType }
}
