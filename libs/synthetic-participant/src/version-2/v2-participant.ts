import { randomInt, randomUUID } from 'node:crypto'
import { z } from 'zod'
import { TransportFeedback } from '../rtp/transport-feedback.js'
import { Publication, type PublicationStats, type PublishOptions } from '../tracks/publication.js'
import { EXTENSION } from '../tracks/rtp-sender.js'
import { Receiving, Subscription } from '../tracks/subscription.js'
import { type Certificate, ownCertificate } from '../transport/dtls.js'
import { MediaTransport, type PacketSink } from '../transport/media-transport.js'
import { OFFERED, readTracks, readTransport, writeAnswer, writeOffer } from './session-description.js'
import { V2Socket } from './v2-socket.js'

/** Chromium has 8 to 12 for each peer connection. */
const CANDIDATES = 8
const SDK_VERSION = '2.32.2'

const Joined = z.object({ id: z.string() })
const Published = z.object({ id: z.string(), sdpAnswer: z.string() })
const Offered = z.object({ sdpOffer: z.string() })

/** A stream this participant publishes. */
interface V2PublishedStream {
  readonly streamId: string
  stats(): PublicationStats
}

/** The transport of a publication exists only after the answer to its offer. */
class LateTransport implements PacketSink {
  current: MediaTransport | undefined
  get sendKeys(): PacketSink['sendKeys'] {
    return this.current?.sendKeys
  }
  get isFlushed(): boolean {
    return this.current?.isFlushed ?? true
  }
  sendProtected(packet: Buffer): void {
    this.current?.sendProtected(packet)
  }
  sendRtcp(compound: Buffer): void {
    this.current?.sendRtcp(compound)
  }
}

/**
 * A participant with the protocol of version 2, without a browser: SDP, and a transport of its own for each stream.
 * It has real ICE, DTLS and SRTP, an Opus tone and grey VP8 video.
 */
export class SyntheticV2Participant {
  readonly #transports = new Set<MediaTransport>()
  readonly #receiving = new Map<string, Receiving>()
  readonly #socket: V2Socket
  readonly #certificate: Certificate
  #published: { streamId: string; publication: Publication } | undefined

  private constructor(
    socket: V2Socket,
    readonly connectionId: string,
    certificate: Certificate,
  ) {
    this.#socket = socket
    this.#certificate = certificate
  }

  /**
   * Joins a session.
   * @param token the token of the REST API
   * @param prefix that of the paths of version 2
   */
  static async join(token: string, prefix: string): Promise<SyntheticV2Participant> {
    const url = new URL(token)
    const session = url.searchParams.get('sessionId') ?? ''
    const [certificate, socket] = await Promise.all([
      ownCertificate(),
      V2Socket.open(`${url.protocol}//${url.host}/${prefix}?sessionId=${session}`),
    ])
    try {
      const call = { token, session, platform: 'synthetic', sdkVersion: SDK_VERSION, metadata: '', secret: '' }
      const { id } = Joined.parse(await socket.call('joinRoom', call))
      return new SyntheticV2Participant(socket, id, certificate)
    } catch (error) {
      await socket.close()
      throw error
    }
  }

  get isConnected(): boolean {
    return this.#socket.isOpen
  }

  get subscriptions(): readonly Subscription[] {
    return [...this.#receiving.values()].flatMap(({ all }) => all)
  }

  /** The datagrams that arrived on all transports. */
  get packetsReceived(): number {
    return [...this.#transports].reduce((sum, { packetsReceived }) => sum + packetsReceived, 0)
  }

  /** Publishes a stream, and sends it until the participant closes. */
  async publish(options: PublishOptions = {}): Promise<V2PublishedStream> {
    let mids = 0
    const sink = new LateTransport()
    const publication = new Publication(
      {
        transport: sink,
        capabilities: OFFERED,
        cname: randomUUID(),
        sequence: { next: 1 },
        nextMid: () => String(mids++),
        maxSendKbps: 0,
      },
      options,
    )
    const call = { ...viewOf(publication, options), sdpOffer: writeOffer(publication.tracks, this.#certificate) }
    const [answer] = await Promise.all([
      this.#socket.call('publishVideo', call),
      this.#sendCandidates(this.connectionId),
    ])
    const { id: streamId, sdpAnswer } = Published.parse(answer)
    sink.current = this.#open(sdpAnswer, {
      onKeyFrameRequest: (ssrc) => publication.requestKeyFrame(ssrc),
      onNack: (ssrc, sequences) => publication.resend(ssrc, sequences),
    })
    await sink.current.connect()
    publication.start()
    this.#published = { streamId, publication }
    return { streamId, stats: () => publication.stats() }
  }

  /** Mutes the own stream, or ends that. A muted track sends no packets. */
  async setActive(active: boolean): Promise<void> {
    if (!this.#published) throw new Error('nothing is published')
    const { streamId, publication } = this.#published
    const reasons = { audioActive: 'publishAudio', videoActive: 'publishVideo' }
    for (const [property, reason] of Object.entries(reasons))
      await this.#socket.call('streamPropertyChanged', { streamId, property, newValue: active, reason })
    if (publication.audio) publication.audio.active = active
    if (publication.video) publication.video.active = active
  }

  async subscribe(streamId: string): Promise<Subscription> {
    const asked = await this.#socket.call('prepareReceiveVideoFrom', { sender: streamId, reconnect: false })
    const { sdpOffer } = Offered.parse(asked)
    const tracks = readTracks(sdpOffer)
    const transport: MediaTransport = this.#open(sdpOffer, {
      onRtp: (packet, headerLength, keys) => receiving.onRtp(packet, headerLength, keys),
      onSenderReport: (ssrc, middleNtp) => receiving.onSenderReport(ssrc, middleNtp),
    })
    const sequenceId = tracks
      .flatMap(({ rtpParameters }) => rtpParameters.headerExtensions ?? [])
      .find(({ uri }) => uri === EXTENSION.transportSequence)?.id
    const feedback = new TransportFeedback(undefined)
    const receiving = new Receiving(transport, randomInt(1, 0xffff_ffff), this.connectionId, feedback, sequenceId)
    const subscription = new Subscription(streamId, 0, tracks)
    receiving.add(subscription)
    this.#receiving.set(streamId, receiving)
    const sdpAnswer = writeAnswer(sdpOffer, this.#certificate)
    await Promise.all([
      this.#socket.call('receiveVideoFrom', { sender: streamId, sdpAnswer }),
      this.#sendCandidates(streamId.slice(streamId.indexOf('con_'))),
      transport.open(),
    ])
    for (const receiver of subscription.receivers) receiver.expect(performance.now())
    await transport.connect()
    return subscription
  }

  async leave(): Promise<void> {
    await this.#socket.call('leaveRoom', {})
    await this.close()
  }

  /** Closes media and socket without `leaveRoom`. */
  async close(): Promise<void> {
    this.#published?.publication.stop()
    for (const receiving of this.#receiving.values()) receiving.clear()
    for (const transport of this.#transports) transport.close()
    await this.#socket.close()
  }

  #open(description: string, listener: ConstructorParameters<typeof MediaTransport>[2]): MediaTransport {
    const transport = new MediaTransport(readTransport(description), this.#certificate, listener)
    this.#transports.add(transport)
    return transport
  }

  async #sendCandidates(endpointName: string): Promise<void> {
    const candidate = { endpointName, candidate: '', sdpMid: '0', sdpMLineIndex: 0 }
    await Promise.all(Array.from({ length: CANDIDATES }, () => this.#socket.call('onIceCandidate', candidate)))
  }
}

function viewOf({ audio, video }: Publication, { fps = 25, typeOfVideo = 'CAMERA' }: PublishOptions): object {
  return {
    hasAudio: audio !== undefined,
    hasVideo: video !== undefined,
    doLoopback: false,
    ...(audio && { audioActive: true }),
    ...(video && {
      videoActive: true,
      typeOfVideo,
      frameRate: fps,
      videoDimensions: JSON.stringify(video.dimensions),
    }),
  }
}
