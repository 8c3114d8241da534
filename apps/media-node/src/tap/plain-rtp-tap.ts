import type { types } from 'mediasoup'
import { z } from 'zod'
import { LOOPBACK } from '../workers/listen-info.js'
import { mediaError } from '../workers/media-errors.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import type { Release } from '../tracks/release.js'
import type { Stream } from '../rooms/stream.js'

/** The ports of a local program for RTP and RTCP. */
export interface RtpPorts {
  rtp: number
  rtcp: number
}

/** A track as the program receives it: plain RTP with this payload type and SSRC. */
export interface TapTrack {
  kind: types.MediaKind
  /** The name in SDP: `VP8`, `H264`, `opus`. */
  codec: string
  clockRate: number
  channels: number | undefined
  payloadType: number
  ssrc: number
  /** Equal for both tracks of a stream: receivers synchronise them by it. */
  cname: string
  /** The id of the header extension for the level of the audio, which not every publisher sends. */
  levelId: number | undefined
  /** The id of the header extension by which phones turn their pictures, which not every publisher sends. */
  orientationId: number | undefined
  parameters: Record<string, unknown>
}

interface FirstPacket {
  track: TapTrack
  /** By the worker's clock, which its sender reports use too, ms. */
  at: number
  rtpTimestamp: number
}

const LEVEL_EXTENSION = 'urn:ietf:params:rtp-hdrext:ssrc-audio-level'
const ORIENTATION_EXTENSION = 'urn:3gpp:video-orientation'

const PacketInfo = z.object({ rtpPacket: z.object({ timestamp: z.number() }) })

interface TapLeg {
  track: TapTrack
  transport: types.PlainTransport
  consumer: types.Consumer
  /** Whether its layers are qualities. */
  hasQualities: boolean
}

/** Sends the tracks of a stream to a local program, such as a recorder. Sends nothing before `start`. */
export class PlainRtpTap {
  private constructor(
    private readonly stream: Stream,
    private readonly sources: readonly PublishedTrack[],
    private readonly legs: readonly TapLeg[],
    private readonly release: Release,
  ) {}

  /** Taps the forwarded tracks of these kinds, as far as the stream has them. */
  static async open(stream: Stream, kinds: readonly types.MediaKind[]): Promise<PlainRtpTap> {
    return PlainRtpTap.openTracks(
      stream,
      stream.forwardedTracks.filter(({ kind }) => kinds.includes(kind)),
    )
  }

  /** Taps these tracks of the stream. `isReceiver`: whether it counts as a receiver of the stream. */
  static async openTracks(
    stream: Stream,
    tracks: readonly PublishedTrack[],
    { isReceiver = true } = {},
  ): Promise<PlainRtpTap> {
    const opened = await Promise.allSettled(tracks.map(openTapLeg))
    const legs = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failed = opened.find((result) => result.status === 'rejected')
    if (!failed) return new PlainRtpTap(stream, tracks, legs, isReceiver ? stream.addReceiver() : () => undefined)
    for (const { transport } of legs) transport.close()
    throw mediaError(`stream ${stream.id} cannot be tapped`, failed.reason)
  }

  get tracks(): readonly TapTrack[] {
    return this.legs.map(({ track }) => track)
  }

  track(kind: types.MediaKind): TapTrack | undefined {
    return this.tracks.find((track) => track.kind === kind)
  }

  /** Whether the stream forwards other tracks by now. */
  get isReplaced(): boolean {
    return this.sources.some((track) => !this.stream.forwardedTracks.includes(track))
  }

  /** Whether the key frames of its video cannot be requested. */
  get hasRareKeyFrames(): boolean {
    return this.sources.some(({ catchUp }) => catchUp !== undefined)
  }

  /** Whether the publisher has muted the track. */
  isPaused(kind: types.MediaKind): boolean {
    return this.legs.some(({ track, consumer }) => track.kind === kind && consumer.producerPaused)
  }

  /** Starts sending to these ports on loopback and requests a key frame. */
  async start(ports: Partial<Record<types.MediaKind, RtpPorts>>): Promise<void> {
    await Promise.all(
      this.legs.map(async ({ track: { kind }, transport, consumer }) => {
        const port = ports[kind]
        if (!port) return
        await transport.connect({ ip: '127.0.0.1', port: port.rtp, rtcpPort: port.rtcp })
        await consumer.resume()
      }),
    )
    await this.requestKeyFrame()
  }

  /** Stops sending the track. */
  async pause(kind: types.MediaKind): Promise<void> {
    await Promise.all(this.legs.map(({ track, consumer }) => track.kind === kind && consumer.pause()))
  }

  /** Calls `listener` once per track with its first packet; for video, the first packet of a key frame. */
  async onFirstPacket(listener: (packet: FirstPacket) => void): Promise<void> {
    await Promise.all(
      this.legs.map(async ({ track, consumer }) => {
        consumer.once('trace', ({ timestamp, info }) => {
          listener({ track, at: timestamp, rtpTimestamp: PacketInfo.parse(info).rtpPacket.timestamp })
          void consumer.enableTraceEvent([]).catch(() => undefined)
        })
        await consumer.enableTraceEvent([track.kind === 'video' ? 'keyframe' : 'rtp'])
      }),
    )
  }

  async requestKeyFrame(): Promise<void> {
    await Promise.all(this.legs.map(({ consumer }) => consumer.kind === 'video' && consumer.requestKeyFrame()))
  }

  /** Selects the simulcast layer; 0 is the smallest. */
  async preferLayer(spatialLayer: number): Promise<void> {
    await Promise.all(
      this.legs.map(({ consumer, hasQualities }) => hasQualities && consumer.setPreferredLayers({ spatialLayer })),
    )
  }

  /** The number of packets sent so far; 0 while the publisher sends nothing. */
  async packets(kind: types.MediaKind): Promise<number> {
    const leg = this.legs.find(({ track }) => track.kind === kind)
    const stats = (await leg?.consumer.getStats()) ?? []
    return stats.reduce((sum, { type, packetCount }) => sum + (type === 'outbound-rtp' ? packetCount : 0), 0)
  }

  close(): void {
    this.release()
    for (const { transport } of this.legs) transport.close()
  }
}

/** On the router where the track is published, so nothing is piped. */
async function openTapLeg({ router, producer, catchUp }: PublishedTrack): Promise<TapLeg> {
  const transport = await router.createPlainTransport({
    listenInfo: LOOPBACK,
    rtcpMux: false,
    comedia: false,
  })
  try {
    const rtpCapabilities = forLoopback(router.rtpCapabilities)
    const consumer = await transport.consume({
      producerId: producer.id,
      rtpCapabilities,
      paused: true,
      ...(catchUp && { preferredLayers: { spatialLayer: catchUp.liveLayer } }),
    })
    return { transport, consumer, track: tapTrack(consumer), hasQualities: consumer.type === 'simulcast' && !catchUp }
  } catch (error) {
    transport.close()
    throw error
  }
}

/** Retransmission and bandwidth estimation, which never exceeds its initial value without reports of the receiver. */
const FOR_NETWORKS = ['nack', 'transport-cc', 'goog-remb']

const forLoopback = ({ codecs = [], headerExtensions = [] }: types.RtpCapabilities): types.RtpCapabilities => ({
  codecs: codecs
    .filter(({ mimeType }) => !mimeType.toLowerCase().endsWith('/rtx'))
    .map((codec) => ({
      ...codec,
      rtcpFeedback: (codec.rtcpFeedback ?? []).filter(({ type }) => !FOR_NETWORKS.includes(type)),
    })),
  headerExtensions,
})

function tapTrack({ kind, rtpParameters }: types.Consumer): TapTrack {
  const codec = rtpParameters.codecs[0]
  const ssrc = rtpParameters.encodings?.[0]?.ssrc
  const extensionId = (wanted: string) => rtpParameters.headerExtensions?.find(({ uri }) => uri === wanted)?.id
  if (!codec || ssrc === undefined) throw new Error(`a consumer of ${kind} without codec or ssrc`)
  return {
    kind,
    codec: codec.mimeType.slice(codec.mimeType.indexOf('/') + 1),
    clockRate: codec.clockRate,
    channels: codec.channels,
    payloadType: codec.payloadType,
    ssrc,
    cname: rtpParameters.rtcp?.cname ?? '',
    levelId: extensionId(LEVEL_EXTENSION),
    orientationId: extensionId(ORIENTATION_EXTENSION),
    parameters: codec.parameters ?? {},
  }
}
