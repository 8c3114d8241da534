import { randomInt } from 'node:crypto'
import type { types } from 'mediasoup'
import type { VideoCodec } from '../rooms/target-codec.js'
import type { RoomRouter } from '../routers/room-router.js'
import { ReservedPort } from '../tap/reserved-port.js'
import { PublishedTrack } from '../tracks/published-track.js'
import { mediaError } from '../workers/media-errors.js'

const PAYLOAD_TYPE = 96
/** The program answers one request per 300 ms. */
const KEY_FRAME_REQUEST_DELAY_MS = 350
/** Above the last known sequence number, so that a receiver takes none of the new packets for an old one. */
const SEQUENCE_STEP = 2_000
const PARAMETERS: Record<VideoCodec, Record<string, string | number>> = {
  VP8: {},
  VP9: { 'profile-id': 0 },
  H264: { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 },
}

/** Where a program sends a video from, one after another, and the track that its packets become. */
export class EncodedOutput {
  #sequence: number | undefined

  private constructor(
    readonly codec: VideoCodec,
    readonly track: PublishedTrack,
    private readonly transport: types.PlainTransport,
    private readonly source: ReservedPort,
    private readonly ssrc: number,
  ) {}

  /** Its track is paused, and belongs to the participant with this CNAME. */
  static async open(codec: VideoCodec, roomRouter: RoomRouter, cname: string | undefined): Promise<EncodedOutput> {
    const source = await ReservedPort.open()
    let transport: types.PlainTransport | undefined
    try {
      transport = await roomRouter.router.createPlainTransport({
        listenInfo: { protocol: 'udp', ip: '127.0.0.1' },
        rtcpMux: true,
        comedia: false,
      })
      await transport.connect({ ip: '127.0.0.1', port: source.port })
      const ssrc = randomInt(1, 0xffff_ffff)
      const rtpParameters = parametersOf(codec, ssrc, cname)
      const options = { kind: 'video', rtpParameters, paused: true } as const
      const producer = await transport.produce({ ...options, keyFrameRequestDelay: KEY_FRAME_REQUEST_DELAY_MS })
      return new EncodedOutput(codec, new PublishedTrack(producer, roomRouter), transport, source, ssrc)
    } catch (error) {
      transport?.close()
      source.close()
      throw mediaError('the track of an encoded video was not opened', error)
    }
  }

  /** The destination for the next program. */
  next(): {
    codec: VideoCodec
    port: number
    sourcePort: number
    ssrc: number
    payloadType: number
    firstSequence: number
  } {
    const { codec, ssrc } = this
    this.#sequence = this.#sequence === undefined ? 0 : (this.#sequence + SEQUENCE_STEP) & 0xffff
    const [port, sourcePort, firstSequence] = [this.transport.tuple.localPort, this.source.port, this.#sequence]
    return { codec, port, sourcePort, ssrc, payloadType: PAYLOAD_TYPE, firstSequence }
  }

  /** A program has sent a packet with this sequence number. */
  sent(sequence: number): void {
    this.#sequence = sequence
  }

  close(): void {
    this.track.close()
    this.transport.close()
    this.source.close()
  }
}

const parametersOf = (codec: VideoCodec, ssrc: number, cname: string | undefined): types.RtpParameters => ({
  codecs: [
    {
      mimeType: `video/${codec}`,
      payloadType: PAYLOAD_TYPE,
      clockRate: 90_000,
      parameters: PARAMETERS[codec],
      rtcpFeedback: [
        { type: 'nack', parameter: 'pli' },
        { type: 'ccm', parameter: 'fir' },
      ],
    },
  ],
  encodings: [{ ssrc }],
  // As the audio of the stream: receivers synchronise them.
  rtcp: { ...(cname !== undefined && { cname }) },
})
