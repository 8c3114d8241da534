import type { types } from 'mediasoup'
import { z } from 'zod'
import { mediaError } from '../workers/media-errors.js'
import type { Source } from '../tracks/published-track.js'
import type { Stream } from '../rooms/stream.js'

/** Where a program on this machine takes RTP and RTCP. */
export interface FeedPorts {
  rtp: number
  rtcp: number
}

/** A track as a program gets it: plain RTP with this payload type and SSRC. */
export interface FedTrack {
  kind: types.MediaKind
  /** As in SDP: `VP8`, `H264`, `opus`. */
  codec: string
  clockRate: number
  channels: number | undefined
  payloadType: number
  ssrc: number
  /** The same for both tracks of a stream: by it they are kept in step. */
  cname: string
  parameters: Record<string, unknown>
}

export interface FirstPacket {
  track: FedTrack
  /** By the worker's clock, which its sender reports are made by too: ms. */
  at: number
  rtpTimestamp: number
}

const PacketInfo = z.object({ rtpPacket: z.object({ timestamp: z.number() }) })

interface Leg {
  track: FedTrack
  transport: types.PlainTransport
  consumer: types.Consumer
}

/** Sends the tracks of a stream to a program on this machine, such as a recorder. Nothing is sent before `start`. */
export class Feed {
  private constructor(private readonly legs: readonly Leg[]) {}

  /** Of the kinds that the stream has. */
  static async open(stream: Stream, kinds: readonly types.MediaKind[]): Promise<Feed> {
    const sources = stream.sources.filter(({ kind }) => kinds.includes(kind))
    const opened = await Promise.allSettled(sources.map(openLeg))
    const legs = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failed = opened.find((result) => result.status === 'rejected')
    if (!failed) return new Feed(legs)
    for (const { transport } of legs) transport.close()
    throw mediaError(`stream ${stream.id} can not be passed on`, failed.reason)
  }

  get tracks(): readonly FedTrack[] {
    return this.legs.map(({ track }) => track)
  }

  track(kind: types.MediaKind): FedTrack | undefined {
    return this.tracks.find((track) => track.kind === kind)
  }

  /** Whether the publisher has muted the track. */
  isPaused(kind: types.MediaKind): boolean {
    return this.legs.some(({ track, consumer }) => track.kind === kind && consumer.producerPaused)
  }

  /** Begins to send to these ports of loopback, and asks for a key frame. */
  async start(ports: Partial<Record<types.MediaKind, FeedPorts>>): Promise<void> {
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

  /** Calls once for each track, with its first packet: of video that is the first of a key frame. */
  async onBegun(listener: (packet: FirstPacket) => void): Promise<void> {
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

  /** Of a simulcast stream the layer to send, 0 the smallest. */
  async preferLayer(spatialLayer: number): Promise<void> {
    await Promise.all(
      this.legs.map(({ consumer }) => consumer.type === 'simulcast' && consumer.setPreferredLayers({ spatialLayer })),
    )
  }

  /** Packets sent so far: whether the publisher sends anything. */
  async packets(kind: types.MediaKind): Promise<number> {
    const leg = this.legs.find(({ track }) => track.kind === kind)
    const stats = (await leg?.consumer.getStats()) ?? []
    return stats.reduce((sum, { type, packetCount }) => sum + (type === 'outbound-rtp' ? packetCount : 0), 0)
  }

  close(): void {
    for (const { transport } of this.legs) transport.close()
  }
}

/** On the branch where the track is published: no copy is needed. Losses are mended before: loopback has none. */
async function openLeg(source: Source): Promise<Leg> {
  const { router, producer } = source
  const transport = await router.createPlainTransport({
    listenInfo: { protocol: 'udp', ip: '127.0.0.1' },
    rtcpMux: false,
    comedia: false,
  })
  try {
    const rtpCapabilities = withoutRetransmission(router.rtpCapabilities)
    const consumer = await transport.consume({ producerId: producer.id, rtpCapabilities, paused: true })
    return { transport, consumer, track: fedTrack(consumer) }
  } catch (error) {
    transport.close()
    throw error
  }
}

const withoutRetransmission = ({
  codecs = [],
  headerExtensions = [],
}: types.RtpCapabilities): types.RtpCapabilities => ({
  codecs: codecs
    .filter(({ mimeType }) => !mimeType.toLowerCase().endsWith('/rtx'))
    .map((codec) => ({ ...codec, rtcpFeedback: (codec.rtcpFeedback ?? []).filter(({ type }) => type !== 'nack') })),
  headerExtensions,
})

function fedTrack({ kind, rtpParameters }: types.Consumer): FedTrack {
  const codec = rtpParameters.codecs[0]
  const ssrc = rtpParameters.encodings?.[0]?.ssrc
  if (!codec || ssrc === undefined) throw new Error(`a consumer of ${kind} without codec or ssrc`)
  return {
    kind,
    codec: codec.mimeType.slice(codec.mimeType.indexOf('/') + 1),
    clockRate: codec.clockRate,
    channels: codec.channels,
    payloadType: codec.payloadType,
    ssrc,
    cname: rtpParameters.rtcp?.cname ?? '',
    parameters: codec.parameters ?? {},
  }
}
