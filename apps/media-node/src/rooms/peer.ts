import {
  ServiceError,
  type BandwidthLimits,
  type NodeCommandCall,
  type TransportDirection,
} from '@session-service/contract'
import type { types } from 'mediasoup'
import {
  incomingMaximum,
  outgoingBitrates,
  type Published,
  type TrackCounts,
  type TransportBitrates,
} from '../tracks/bandwidth.js'
import { forcedMimeType } from '../routers/codecs.js'
import type { RoomRouter } from '../routers/room-router.js'
import { mediaError } from '../workers/media-errors.js'
import type { ParticipantMetadata, Publisher } from './publisher.js'
import type { Room } from './room.js'
import type { RouterSlot } from '../routers/router-slot.js'
import { Stream } from './stream.js'
import { Subscription } from './subscription.js'
import { MediaTransport } from '../tracks/media-transport.js'

export const STREAMS_PER_CONNECTION = 32
const SUBSCRIPTIONS_PER_CONNECTION = 2_000

/** A connection's media in a room: its two transports, its streams and its subscriptions. */
export class Peer implements Publisher {
  readonly streams = new Map<string, Stream>()
  readonly subscriptions = new Map<string, Subscription>()
  readonly #received: TrackCounts = { audio: 0, video: 0 }
  #closed = false

  private constructor(
    readonly room: Room,
    readonly connectionId: string,
    readonly limits: BandwidthLimits,
    readonly metadata: ParticipantMetadata,
    private readonly slot: RouterSlot,
    readonly send: MediaTransport,
    readonly recv: MediaTransport,
  ) {}

  static async open(
    room: Room,
    connectionId: string,
    limits: BandwidthLimits,
    metadata: ParticipantMetadata,
  ): Promise<Peer> {
    const slot = await room.allocateSlot()
    const opened = await Promise.allSettled([
      MediaTransport.open(slot.roomRouter, 'send'),
      MediaTransport.open(slot.roomRouter, 'recv'),
    ])
    const [send, recv] = opened
    if (send.status === 'fulfilled' && recv.status === 'fulfilled') {
      const peer = new Peer(room, connectionId, limits, metadata, slot, send.value, recv.value)
      await peer.#applyInitialLimits()
      return peer
    }
    for (const result of opened) if (result.status === 'fulfilled') result.value.close()
    room.releaseSlot(slot)
    throw send.status === 'rejected' ? send.reason : (recv as PromiseRejectedResult).reason
  }

  /** The router on which it sends and receives. */
  get roomRouter(): RoomRouter {
    return this.slot.roomRouter
  }

  ingress(): types.Transport {
    return this.send.transport
  }

  get maxSendKbps(): number {
    return this.limits.maxSendKbps
  }

  setRecord(record: boolean): void {
    if (this.metadata.record === record) return
    this.metadata.record = record
    for (const stream of this.streams.values()) this.room.changed(stream)
  }

  transport(direction: TransportDirection): MediaTransport {
    return direction === 'send' ? this.send : this.recv
  }

  async publish(publication: NodeCommandCall<'publish'>): Promise<void> {
    const { streamId, dtlsParameters } = publication
    this.#requireForcedCodec(publication)
    if (this.room.streams.has(streamId)) throw new ServiceError('CONFLICT', `stream ${streamId} is already published`)
    if (this.streams.size >= STREAMS_PER_CONNECTION) {
      throw new ServiceError('NOT_ALLOWED', `a connection publishes at most ${STREAMS_PER_CONNECTION} streams`)
    }
    if (dtlsParameters) await this.send.connect(dtlsParameters)
    const stream = await Stream.publish(this, publication)
    if (this.#closed) {
      stream.close()
      throw this.#leftError()
    }
    this.streams.set(streamId, stream)
    this.room.published(stream)
    await this.#applyLimits()
  }

  async unpublish(streamId: string): Promise<void> {
    this.#close(this.ownStream(streamId))
    await this.#applyLimits()
  }

  async changeStream(call: NodeCommandCall<'changeStream'>): Promise<void> {
    const stream = this.ownStream(call.streamId)
    await stream.change({ audio: call.audioActive, video: call.videoActive })
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
  async subscribe({ streamId, rtpCapabilities, replace }: NodeCommandCall<'subscribe'>): Promise<Subscription> {
    const stream = this.room.stream(streamId)
    if (stream.publisher === this)
      throw new ServiceError('NOT_ALLOWED', 'a connection can not subscribe to its own stream')
    if (this.subscriptions.has(streamId) && !replace) {
      throw new ServiceError('CONFLICT', `connection ${this.connectionId} is already subscribed to ${streamId}`)
    }
    if (this.subscriptions.size >= SUBSCRIPTIONS_PER_CONNECTION && !this.subscriptions.has(streamId)) {
      throw new ServiceError('NOT_ALLOWED', `a connection has at most ${SUBSCRIPTIONS_PER_CONNECTION} subscriptions`)
    }
    const subscription = await Subscription.open(this, stream, rtpCapabilities).catch((error: unknown) => {
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
    return subscription
  }

  async changeSubscription(call: NodeCommandCall<'changeSubscription'>): Promise<void> {
    await this.subscription(call.streamId).change(call)
    await this.#applyLimits()
  }

  async unsubscribe(streamId: string): Promise<void> {
    this.subscription(streamId).close()
    this.slot.clearExpected()
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
    this.#received.audio -= subscription.count('audio')
    this.#received.video -= subscription.count('video')
    this.room.consumersChanged(this.slot, -subscription.consumers.length)
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
    this.recv.limitOutgoing(this.#outgoingBitrates()).catch(() => undefined)
  }

  /** For a client that may have missed a change of its limits or of the tracks that it receives. */
  reportSendLimits(): void {
    for (const stream of this.streams.values()) this.#reportSendLimit(stream)
    for (const subscription of this.subscriptions.values()) subscription.stream.reportReplaced([subscription])
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const stream of this.streams.values()) this.#close(stream)
    for (const subscription of this.subscriptions.values()) subscription.close()
    this.send.close()
    this.recv.close()
    this.room.releaseSlot(this.slot)
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
    this.#received.audio += subscription.count('audio')
    this.#received.video += subscription.count('video')
    this.room.consumersChanged(this.slot, subscription.consumers.length)
    if (former) subscription.replace(former)
  }

  #close(stream: Stream): void {
    this.streams.delete(stream.id)
    this.room.unpublished(stream)
    stream.close()
  }

  /** The routers also have the codecs of cameras and of transcoded clients. */
  #requireForcedCodec({ tracks }: NodeCommandCall<'publish'>): void {
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

  #limitIncoming(): Promise<void> {
    return this.send.limitIncoming(incomingMaximum(this.limits, this.#published()))
  }

  #published(): Published {
    const streams = [...this.streams.values()]
    return {
      audio: streams.filter((stream) => stream.track('audio')).length,
      videoMaxKbps: streams.filter((stream) => stream.track('video')).map(({ videoMaxKbps }) => videoMaxKbps),
    }
  }

  async #applyLimits(): Promise<void> {
    try {
      await Promise.all([this.#limitIncoming(), this.recv.limitOutgoing(this.#outgoingBitrates())])
    } catch (error) {
      throw this.#closed ? this.#leftError() : mediaError(`bandwidth of ${this.connectionId}`, error)
    }
  }

  #outgoingBitrates(): TransportBitrates {
    const needed = [...this.subscriptions.values()].reduce((sum, { neededKbps }) => sum + neededKbps, 0)
    return outgoingBitrates(this.limits, this.#received, needed)
  }

  #leftError(): ServiceError {
    return new ServiceError('NOT_FOUND', `connection ${this.connectionId} has left`, { subject: 'connection' })
  }
}
