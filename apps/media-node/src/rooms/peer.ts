import {
  ServiceError,
  type BandwidthLimits,
  type DtlsParameters,
  type NodeCommandCall,
  type TransportDirection,
  type SubscribedTrack,
  type TransportOptions,
} from '@session-service/contract'
import { forcedMimeType } from '../routers/codecs.js'
import type { RoomRouter } from '../routers/room-router.js'
import { mediaError } from '../workers/media-errors.js'
import {
  PerStreamTransports,
  SharedTransports,
  type PeerTransports,
  type TransportsOptions,
} from './peer-transports.js'
import type { Ingress } from './published-media.js'
import type { ParticipantMetadata, Publisher } from './publisher.js'
import type { Room } from './room.js'
import type { RouterShare } from '../routers/router-share.js'
import { Stream } from './stream.js'
import { Subscription } from './subscription.js'
import type { MediaTransport } from '../tracks/media-transport.js'

export const STREAMS_PER_CONNECTION = 32
const SUBSCRIPTIONS_PER_CONNECTION = 2_000

/** The answer to `subscribe`: the tracks, and the subscription's own transport if it has one. */
interface SubscribeAnswer {
  tracks: SubscribedTrack[]
  transport?: TransportOptions
}

interface PeerOptions {
  connectionId: string
  limits: BandwidthLimits
  metadata: ParticipantMetadata
  /** Each stream and each subscription gets a transport of its own. */
  isPerStream?: boolean
  /** `forwarded`: its client sends black pictures while it is muted. */
  mutedVideo?: NodeCommandCall<'join'>['mutedVideo']
}

/** A connection's media in a room: its transports, its streams and its subscriptions. */
export class Peer implements Publisher {
  readonly streams = new Map<string, Stream>()
  readonly subscriptions = new Map<string, Subscription>()
  #closed = false

  private constructor(
    readonly room: Room,
    private readonly options: PeerOptions,
    private readonly share: RouterShare,
    readonly transports: PeerTransports,
  ) {}

  static async open(room: Room, options: PeerOptions): Promise<Peer> {
    const share = await room.allocateShare()
    const { limits, isPerStream = false } = options
    const onCount = (by: number): void => room.count('transports', by)
    const wanted = { roomRouter: share.roomRouter, limits, onCount }
    const transports = await openTransports(wanted, isPerStream).catch((error: unknown) => {
      room.releaseShare(share)
      throw error
    })
    const peer = new Peer(room, options, share, transports)
    await peer.#applyInitialLimits()
    return peer
  }

  get connectionId(): string {
    return this.options.connectionId
  }

  get limits(): BandwidthLimits {
    return this.options.limits
  }

  get metadata(): ParticipantMetadata {
    return this.options.metadata
  }

  /** The router on which it sends and receives. */
  get roomRouter(): RoomRouter {
    return this.share.roomRouter
  }

  get maxSendKbps(): number {
    return this.limits.maxSendKbps
  }

  setRecord(record: boolean): void {
    if (this.metadata.record === record) return
    this.metadata.record = record
    for (const stream of this.streams.values()) this.room.changed(stream)
  }

  /** @throws ServiceError INVALID without a stream, or NOT_FOUND, where each stream has its own transport */
  transport(direction: TransportDirection, streamId?: string): MediaTransport {
    const shared = this.transports.shared?.[direction]
    if (shared) return shared
    if (streamId === undefined) {
      throw new ServiceError('INVALID', `streamId: connection ${this.connectionId} has a transport for each stream`)
    }
    const transport = direction === 'send' ? this.ownStream(streamId).transport : this.subscription(streamId).transport
    if (transport) return transport
    throw this.room.noStream(streamId)
  }

  /** The transports on which its streams arrive. */
  get sendTransports(): readonly MediaTransport[] {
    const { shared } = this.transports
    return shared ? [shared.send] : [...this.streams.values()].flatMap(({ transport }) => transport ?? [])
  }

  /** The transports on which its subscriptions are sent. */
  get recvTransports(): readonly MediaTransport[] {
    const { shared } = this.transports
    return shared ? [shared.recv] : [...this.subscriptions.values()].map(({ transport }) => transport)
  }

  async connectTransport(call: NodeCommandCall<'connectTransport'>): Promise<void> {
    const { direction, streamId, dtlsParameters } = call
    await this.transport(direction, streamId).connect(dtlsParameters)
    if (direction === 'recv' && streamId !== undefined) this.subscriptions.get(streamId)?.endReplaced()
  }

  /** Returns the options of the stream's own transport, if it has one. */
  async publish(publication: NodeCommandCall<'publish'>): Promise<TransportOptions | undefined> {
    const { streamId, dtlsParameters, tracks } = publication
    this.#requireForcedCodec(tracks)
    if (this.room.streams.has(streamId)) throw new ServiceError('CONFLICT', `stream ${streamId} is already published`)
    if (this.streams.size >= STREAMS_PER_CONNECTION) {
      throw new ServiceError('LIMIT_REACHED', `a connection publishes at most ${STREAMS_PER_CONNECTION} streams`)
    }
    const videoActive = publication.videoActive || this.#forwardsMutedVideo
    const ingress = await this.#ingress(dtlsParameters)
    const stream = await Stream.publish(this, { ...publication, videoActive }, ingress)
    if (this.#closed) {
      stream.close()
      throw this.#leftError()
    }
    this.streams.set(streamId, stream)
    this.room.published(stream)
    await this.#applyLimits()
    return this.#ownOptions(stream.transport)
  }

  /** Returns the options of the stream's new transport, if it has one of its own. */
  async replaceMedia(call: NodeCommandCall<'replaceMedia'>): Promise<TransportOptions | undefined> {
    const stream = this.ownStream(call.streamId)
    this.#requireForcedCodec(call.tracks)
    await stream.replacePublished(call.tracks, await this.#ingress(call.dtlsParameters))
    await this.#applyLimits()
    return this.#ownOptions(stream.transport)
  }

  async unpublish(streamId: string): Promise<void> {
    this.#close(this.ownStream(streamId))
    await this.#applyLimits()
  }

  async changeStream(call: NodeCommandCall<'changeStream'>): Promise<void> {
    const stream = this.ownStream(call.streamId)
    const video = this.#forwardsMutedVideo ? undefined : call.videoActive
    await stream.change({ audio: call.audioActive, video })
    if (!call.layerKbps) return
    await stream.setLayers(call.layerKbps)
    await this.#applyLimits()
  }

  ownStream(streamId: string): Stream {
    const stream = this.streams.get(streamId)
    if (stream) return stream
    throw new ServiceError('NOT_FOUND', `connection ${this.connectionId} publishes no stream ${streamId}`, {
      subject: 'stream',
    })
  }

  /** Replaces a subscription to former tracks of the stream if asked to. */
  async subscribe(call: NodeCommandCall<'subscribe'>): Promise<SubscribeAnswer> {
    const stream = this.room.stream(call.streamId)
    this.#requireSubscribable(stream, call.replace)
    const egress = await this.transports.hold('recv')
    const subscription = await Subscription.open(this, stream, call, egress).catch((error: unknown) => {
      egress.release()
      throw this.#endedDuringSubscribe(stream) ?? error
    })
    this.#subscribed(subscription)
    const ended = this.#endedDuringSubscribe(stream)
    if (ended) {
      subscription.close()
      throw ended
    }
    await Promise.all([this.#applyLimits(), subscription.fitLayers()])
    // The tracks may have been replaced while it was opened.
    stream.reportReplaced([subscription])
    const transport = this.#ownOptions(subscription.transport)
    return { tracks: subscription.tracks, ...(transport && { transport }) }
  }

  #requireSubscribable(stream: Stream, replace = false): void {
    const streamId = stream.id
    if (stream.publisher === this)
      throw new ServiceError('NOT_ALLOWED', 'a connection cannot subscribe to its own stream')
    if (this.subscriptions.has(streamId) && !replace) {
      throw new ServiceError('CONFLICT', `connection ${this.connectionId} is already subscribed to ${streamId}`)
    }
    if (this.subscriptions.size >= SUBSCRIPTIONS_PER_CONNECTION && !this.subscriptions.has(streamId)) {
      throw new ServiceError('LIMIT_REACHED', `a connection has at most ${SUBSCRIPTIONS_PER_CONNECTION} subscriptions`)
    }
  }

  async changeSubscription(call: NodeCommandCall<'changeSubscription'>): Promise<void> {
    await this.subscription(call.streamId).change(call)
    await this.#applyLimits()
  }

  async unsubscribe(streamId: string): Promise<void> {
    this.subscription(streamId).close()
    this.share.clearExpected()
    await this.#applyLimits()
  }

  subscription(streamId: string): Subscription {
    const subscription = this.subscriptions.get(streamId)
    if (subscription) return subscription
    throw new ServiceError('NOT_FOUND', `connection ${this.connectionId} is not subscribed to ${streamId}`, {
      subject: 'stream',
    })
  }

  /** Called by a subscription when it ends, for any reason. */
  unsubscribed(subscription: Subscription): void {
    if (this.subscriptions.get(subscription.stream.id) === subscription)
      this.subscriptions.delete(subscription.stream.id)
    this.room.consumersChanged(this.share, -subscription.consumers.length)
  }

  /** The receivers' limit of one of its streams has changed: reports it to the client and adapts the transport. */
  sendLimitChanged(stream: Stream): void {
    if (this.#closed) return
    this.#reportSendLimit(stream)
    // Fails only when the transport is closed, which is reported elsewhere.
    this.#limitIncoming().catch(() => undefined)
  }

  /** Clients send whether or not anybody receives them. */
  receiversChanged(): void {}

  /** One of its subscriptions needs another outgoing bitrate to start. */
  neededBitrateChanged(): void {
    if (this.#closed) return
    // Fails only when the transport is closed, which is reported elsewhere.
    this.#limitOutgoing().catch(() => undefined)
  }

  /** For a client that may have missed a change of its limits, or of the tracks or layers that it receives. */
  reportSendLimits(): void {
    for (const stream of this.streams.values()) this.#reportSendLimit(stream)
    for (const subscription of this.subscriptions.values()) {
      subscription.stream.reportReplaced([subscription])
      subscription.reportLayers()
    }
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const stream of this.streams.values()) this.#close(stream)
    for (const subscription of this.subscriptions.values()) subscription.close()
    this.transports.close()
    this.room.releaseShare(this.share)
  }

  async #applyInitialLimits(): Promise<void> {
    try {
      await this.#applyLimits()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** The publisher or the subscriber may leave while consumers are created. */
  #endedDuringSubscribe(stream: Stream): ServiceError | undefined {
    if (this.#closed) return this.#leftError()
    return this.room.streams.get(stream.id) === stream ? undefined : this.room.noStream(stream.id)
  }

  #subscribed(subscription: Subscription): void {
    const former = this.subscriptions.get(subscription.stream.id)
    this.subscriptions.set(subscription.stream.id, subscription)
    subscription.stream.subscriptions.add(subscription)
    this.room.consumersChanged(this.share, subscription.consumers.length)
    if (former) subscription.replace(former)
  }

  #close(stream: Stream): void {
    this.streams.delete(stream.id)
    this.room.unpublished(stream)
    stream.close()
  }

  /** The routers also have the codecs of cameras and of transcoded clients. */
  #requireForcedCodec(tracks: NodeCommandCall<'publish'>['tracks']): void {
    const { codecs, mayTranscode, transcoder } = this.room
    const forced = forcedMimeType(codecs.videoCodec)
    const video = tracks.find(({ kind }) => kind === 'video')?.rtpParameters.codecs[0]?.mimeType
    if (forced === undefined || video === undefined || video.toLowerCase() === forced.toLowerCase()) return
    if (transcoder) return
    const cause = mayTranscode ? 'this media node cannot transcode' : 'it does not allow transcoding'
    throw new ServiceError('CODEC_REFUSED', `tracks: the session allows ${forced} and not ${video}: ${cause}`)
  }

  #reportSendLimit({ id: streamId, sendLimit: maxKbps }: Stream): void {
    this.room.report({ kind: 'sendLimitChanged', connectionId: this.connectionId, streamId, maxKbps })
  }

  get #forwardsMutedVideo(): boolean {
    return this.options.mutedVideo === 'forwarded'
  }

  /** Where the tracks of a publication arrive. */
  async #ingress(dtlsParameters: DtlsParameters | undefined): Promise<Ingress> {
    const { media, release } = await this.transports.hold('send')
    try {
      if (dtlsParameters) await media.connect(dtlsParameters)
      return { producing: () => media.transport, transport: media, release }
    } catch (error) {
      release()
      throw error
    }
  }

  #ownOptions(transport: MediaTransport | undefined): TransportOptions | undefined {
    return this.transports.shared ? undefined : transport?.options
  }

  #limitIncoming(): Promise<void> {
    return this.transports.limitIncoming([...this.streams.values()])
  }

  #limitOutgoing(): Promise<void> {
    return this.transports.limitOutgoing([...this.subscriptions.values()])
  }

  async #applyLimits(): Promise<void> {
    try {
      await Promise.all([this.#limitIncoming(), this.#limitOutgoing()])
    } catch (error) {
      throw this.#closed ? this.#leftError() : mediaError(`bandwidth of ${this.connectionId}`, error)
    }
  }

  #leftError(): ServiceError {
    return new ServiceError('NOT_FOUND', `connection ${this.connectionId} has left`, { subject: 'connection' })
  }
}

const openTransports = async (options: TransportsOptions, isPerStream: boolean): Promise<PeerTransports> =>
  isPerStream ? new PerStreamTransports(options) : SharedTransports.open(options)
