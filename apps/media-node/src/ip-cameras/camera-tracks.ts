import { randomInt } from 'node:crypto'
import type { types } from 'mediasoup'
import type { MediaKind, NodeCommandCall } from '@session-service/contract'
import type { RoomRouter } from '../routers/room-router.js'
import { LOOPBACK } from '../workers/listen-info.js'
import { mediaError } from '../workers/media-errors.js'
import type { ReaderOutput } from './camera-reader.js'
import { LAYER_COUNT } from './camera-layers.js'
import { ReservedPort } from '../tap/reserved-port.js'

type Track = NodeCommandCall<'publish'>['tracks'][number]

const PAYLOAD_TYPE: Record<MediaKind, number> = { audio: 97, video: 96 }
const CODEC: Record<MediaKind, Omit<Track['rtpParameters']['codecs'][number], 'payloadType'>> = {
  audio: { mimeType: 'audio/opus', clockRate: 48_000, channels: 2 },
  // Constrained baseline 3.1 for every camera: decoders take the profile from the stream, and ignore this.
  video: {
    mimeType: 'video/H264',
    clockRate: 90_000,
    parameters: { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 },
    // For a video that is encoded: a program that copies one ignores requests.
    rtcpFeedback: [
      { type: 'nack', parameter: 'pli' },
      { type: 'ccm', parameter: 'fir' },
    ],
  },
}

/** The way of one kind of media from a camera's program into the room. */
export class CameraTrack {
  private constructor(
    readonly kind: MediaKind,
    readonly transport: types.PlainTransport,
    private readonly source: ReservedPort,
    private readonly ssrcs: readonly number[],
  ) {}

  static async open(kind: MediaKind, roomRouter: RoomRouter): Promise<CameraTrack> {
    const source = await ReservedPort.open()
    try {
      const transport = await roomRouter.router.createPlainTransport({
        listenInfo: LOOPBACK,
        rtcpMux: true,
        comedia: false,
      })
      await transport.connect({ ip: '127.0.0.1', port: source.port })
      const first = randomInt(1, 0xffff_ffff - LAYER_COUNT)
      const ssrcs = Array.from({ length: kind === 'video' ? LAYER_COUNT : 1 }, (_, layer) => first + layer)
      return new CameraTrack(kind, transport, source, ssrcs)
    } catch (error) {
      source.close()
      throw mediaError('the transport of a camera was not opened', error)
    }
  }

  get output(): ReaderOutput {
    const { ssrcs, kind } = this
    const port = this.transport.tuple.localPort
    return { port, sourcePort: this.source.port, ssrcs, payloadType: PAYLOAD_TYPE[kind] }
  }

  /** @param cname equal for the tracks of a camera, so that receivers synchronise them */
  published(cname: string): Track {
    const { kind, ssrcs } = this
    const codecs = [{ ...CODEC[kind], payloadType: PAYLOAD_TYPE[kind] }]
    return { kind, rtpParameters: { codecs, encodings: ssrcs.map((ssrc) => ({ ssrc })), rtcp: { cname } } }
  }

  close(): void {
    this.transport.close()
    this.source.close()
  }
}
