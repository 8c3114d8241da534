import { randomInt } from 'node:crypto'
import { ServiceError } from '@session-service/contract'
import type { types } from 'mediasoup'
import type { VideoCodec } from '../rooms/target-codec.js'
import type { RoomRouter } from '../routers/room-router.js'
import { ReservedPort } from '../tap/reserved-port.js'
import { PublishedTrack } from '../tracks/published-track.js'
import { LOOPBACK } from '../workers/listen-info.js'
import { mediaError } from '../workers/media-errors.js'
import type { ProcessorOutput } from './media-processor.js'

const CODECS = ['VP8', 'VP9', 'H264', 'opus'] as const
type ProcessedCodec = (typeof CODECS)[number]

const PAYLOAD_TYPE: Record<types.MediaKind, number> = { audio: 97, video: 96 }
/** The program answers one request for a key frame per 300 ms. */
const KEY_FRAME_REQUEST_DELAY_MS = 350

/** Above the last known sequence number, so that a receiver takes none of the new packets for an old one. */
const SEQUENCE_STEP = 2_000
const VIDEO_PARAMETERS: Record<VideoCodec, Record<string, string | number>> = {
  VP8: {},
  VP9: { 'profile-id': 0 },
  H264: { 'packetization-mode': 1, 'profile-level-id': '42e01f', 'level-asymmetry-allowed': 1 },
}

interface ProcessedTrackOptions {
  /** Default: the codec of the published track. */
  codec?: VideoCodec
  /** Default: whether the published track is paused. */
  paused?: boolean
}

/** The track that media processors send, one after another, instead of a published one. */
export class ProcessedTrack {
  #isClosed = false
  #firstSequence = randomInt(0, 0x8000)

  private constructor(
    readonly track: PublishedTrack,
    private readonly codec: ProcessedCodec,
    private readonly transport: types.PlainTransport,
    private readonly port: ReservedPort,
    private readonly ssrc: number,
  ) {}

  /** @throws ServiceError INVALID when the codec cannot be encoded */
  static async open(
    source: PublishedTrack,
    roomRouter: RoomRouter,
    { codec: target, paused = source.paused }: ProcessedTrackOptions = {},
  ): Promise<ProcessedTrack> {
    const { kind } = source
    const rtpParameters = target ? inCodec(source.producer.rtpParameters, target) : source.producer.rtpParameters
    const codec = codecOf(rtpParameters)
    const port = await ReservedPort.open()
    let transport: types.PlainTransport | undefined
    try {
      transport = await roomRouter.router.createPlainTransport({
        listenInfo: LOOPBACK,
        rtcpMux: true,
        comedia: false,
      })
      await transport.connect({ ip: '127.0.0.1', port: port.port })
      const ssrc = randomInt(1, 0xffff_ffff)
      const producer = await transport.produce({
        kind,
        paused,
        rtpParameters: parametersOf(kind, rtpParameters, ssrc),
        ...(kind === 'video' && { keyFrameRequestDelay: KEY_FRAME_REQUEST_DELAY_MS }),
      })
      return new ProcessedTrack(new PublishedTrack(producer, roomRouter), codec, transport, port, ssrc)
    } catch (error) {
      transport?.close()
      port.close()
      throw mediaError('the track of a media processor was not opened', error)
    }
  }

  /** The destination of the next program. */
  get output(): Omit<ProcessorOutput, 'maxKbps'> {
    const { codec, ssrc, track } = this
    return {
      codec,
      port: this.transport.tuple.localPort,
      sourcePort: this.port.port,
      ssrc,
      payloadType: PAYLOAD_TYPE[track.kind],
      firstSequence: this.#firstSequence,
    }
  }

  /** A program has sent a packet with this sequence number, or is going to: the next program continues above it. */
  sent(sequence: number): void {
    this.#firstSequence = (sequence + SEQUENCE_STEP) & 0xffff
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.track.close()
    this.transport.close()
    this.port.close()
  }
}

function codecOf({ codecs }: types.RtpParameters): ProcessedCodec {
  const name = codecs[0]?.mimeType.split('/')[1] ?? ''
  const codec = CODECS.find((each) => each.toLowerCase() === name.toLowerCase())
  if (codec) return codec
  throw new ServiceError('INVALID', `the media node cannot encode ${name}`)
}

const inCodec = (parameters: types.RtpParameters, codec: VideoCodec): types.RtpParameters => ({
  ...parameters,
  codecs: [{ mimeType: `video/${codec}`, payloadType: 0, clockRate: 90_000, parameters: VIDEO_PARAMETERS[codec] }],
})

/** With the CNAME of the publisher: receivers synchronise both tracks of a stream by it. */
function parametersOf(kind: types.MediaKind, { codecs, rtcp }: types.RtpParameters, ssrc: number): types.RtpParameters {
  const codec = codecs[0]
  if (!codec) throw new ServiceError('INTERNAL', 'a published track has no codec')
  const { mimeType, clockRate, channels, parameters } = codec
  const rtcpFeedback = [
    { type: 'nack', parameter: 'pli' },
    { type: 'ccm', parameter: 'fir' },
  ]
  return {
    codecs: [
      {
        mimeType,
        clockRate,
        payloadType: PAYLOAD_TYPE[kind],
        ...(channels !== undefined && { channels }),
        ...(parameters && { parameters }),
        ...(kind === 'video' && { rtcpFeedback }),
      },
    ],
    encodings: [{ ssrc }],
    rtcp: { ...(rtcp?.cname !== undefined && { cname: rtcp.cname }) },
  }
}
