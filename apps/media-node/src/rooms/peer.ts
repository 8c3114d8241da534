import {
  ServiceError,
  type BandwidthLimits,
  type NodeCommandCall,
  type TransportDirection,
} from '@session-service/contract'
import { incomingMaximum, outgoingBitrates, type Published, type TrackCounts } from '../tracks/bandwidth.js'
import type { Branch } from '../routers/room-router.js'
import { mediaError } from '../workers/media-errors.js'
import type { Room } from './room.js'
import type { Seat } from '../routers/router-slot.js'
import { Stream } from './stream.js'
import { Subscription } from './subscription.js'
import { MediaTransport } from '../tracks/media-transport.js'

export const STREAMS_PER_CONNECTION = 32
export const SUBSCRIPTIONS_PER_CONNECTION = 2_000

/** What recordings know of a participant. */
export interface PeerAbout {
  record: boolean
  readonly clientData: string
  readonly serverData: string
}

/** A connection's media in a room: its two transports, what it publishes and what it receives. */
export class Peer {
  readonly streams = new Map<string, Stream>()
  readonly subscriptions = new Map<string, Subscription>()
  readonly #received: TrackCounts = { audio: 0, video: 0 }
  #closed = false

  private constructor(
    readonly room: Room,
    readonly connectionId: string,
    readonly limits: BandwidthLimits,
    readonly about: PeerAbout,
    private readonly seat: Seat,
    readonly send: MediaTransport,
    readonly recv: MediaTransport,
  ) {}

  static async open(room: Room, connectionId: string, limits: BandwidthLimits, about: PeerAbout): Promise<Peer> {
    const seat = await room.admit()
    const opened = await Promise.allSettled([
      MediaTransport.open(seat.branch, 'send'),
      MediaTransport.open(seat.branch, 'recv'),
    ])
    const [send, recv] = opened
    if (send.status === 'fulfilled' && recv.status === 'fulfilled') {
      const peer = new Peer(room, connectionId, limits, about, seat, send.value, recv.value)
      await peer.#begin()
      return peer
    }
    for (const result of opened) if (result.status === 'fulfilled') result.value.close()
    room.vacate(seat)
    throw send.status === 'rejected' ? send.reason : (recv as PromiseRejectedResult).reason
  }

  /** The part of the room where it sends and receives. */
  get branch(): Branch {
    return this.seat.branch
  }

  setRecord(record: boolean): void {
    if (this.about.record === record) return
    this.about.record = record
    for (const stream of this.streams.values()) this.room.changed(stream)
  }

  transport(direction: TransportDirection): MediaTransport {
    return direction === 'send' ? this.send : this.recv
  }

  async publish(publication: NodeCommandCall<'publish'>): Promise<void> {
    const { streamId, dtlsParameters } = publication
    if (this.room.streams.has(streamId)) throw new ServiceError('CONFLICT', `stream ${streamId} is already published`)
    if (this.streams.size >= STREAMS_PER_CONNECTION) {
      throw new ServiceError('NOT_ALLOWED', `a connection publishes at most ${STREAMS_PER_CONNECTION} streams`)
    }
    if (dtlsParameters) await this.send.connect(dtlsParameters)
    const stream = await Stream.publish(this, publication)
    if (this.#closed) {
      stream.close()
      throw this.#gone()
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

  async subscribe({ streamId, rtpCapabilities }: NodeCommandCall<'subscribe'>): Promise<Subscription> {
    const stream = this.room.stream(streamId)
    if (stream.peer === this) throw new ServiceError('NOT_ALLOWED', 'a connection can not subscribe to its own stream')
    if (this.subscriptions.has(streamId)) {
      throw new ServiceError('CONFLICT', `connection ${this.connectionId} is already subscribed to ${streamId}`)
    }
    if (this.subscriptions.size >= SUBSCRIPTIONS_PER_CONNECTION) {
      throw new ServiceError('NOT_ALLOWED', `a connection has at most ${SUBSCRIPTIONS_PER_CONNECTION} subscriptions`)
    }
    const subscription = await Subscription.open(this, stream, rtpCapabilities).catch((error: unknown) => {
      throw this.#endedMeanwhile(stream) ?? error
    })
    this.#subscribed(subscription)
    const ended = this.#endedMeanwhile(stream)
    if (ended) {
      subscription.close()
      throw ended
    }
    await Promise.all([this.#applyLimits(), subscription.fitLayers()])
    return subscription
  }

  async unsubscribe(streamId: string): Promise<void> {
    this.subscription(streamId).close()
    this.seat.settle()
    await this.#applyLimits()
  }

  subscription(streamId: string): Subscription {
    const subscription = this.subscriptions.get(streamId)
    if (subscription) return subscription
    throw new ServiceError('NOT_FOUND', `connection ${this.connectionId} is not subscribed to ${streamId}`, {
      subject: 'stream',
    })
  }

  /** Called by a subscription when it ends, whatever the cause. */
  unsubscribed(subscription: Subscription): void {
    this.subscriptions.delete(subscription.stream.id)
    this.#received.audio -= subscription.count('audio')
    this.#received.video -= subscription.count('video')
    this.room.consumersChanged(this.seat, -subscription.consumers.length)
  }

  /** The receivers of one of its streams limit it in another way: the client gets a report, the transport follows. */
  sendLimitChanged(stream: Stream): void {
    if (this.#closed) return
    this.#reportSendLimit(stream)
    // Fails only with the transport, whose end is reported elsewhere.
    this.#limitIncoming().catch(() => undefined)
  }

  /** For a client that may have missed a change. */
  reportSendLimits(): void {
    for (const stream of this.streams.values()) this.#reportSendLimit(stream)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    for (const stream of this.streams.values()) this.#close(stream)
    for (const subscription of this.subscriptions.values()) subscription.close()
    this.send.close()
    this.recv.close()
    this.room.vacate(this.seat)
  }

  async #begin(): Promise<void> {
    try {
      await this.#applyLimits()
    } catch (error) {
      this.close()
      throw error
    }
  }

  /** Publisher and subscriber may both go while consumers are made. */
  #endedMeanwhile(stream: Stream): ServiceError | undefined {
    if (this.#closed) return this.#gone()
    return this.room.streams.get(stream.id) === stream ? undefined : this.room.noStream(stream.id)
  }

  #subscribed(subscription: Subscription): void {
    this.subscriptions.set(subscription.stream.id, subscription)
    subscription.stream.subscriptions.add(subscription)
    this.#received.audio += subscription.count('audio')
    this.#received.video += subscription.count('video')
    this.room.consumersChanged(this.seat, subscription.consumers.length)
  }

  #close(stream: Stream): void {
    this.streams.delete(stream.id)
    this.room.unpublished(stream)
    stream.close()
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
      audio: streams.filter((stream) => stream.source('audio')).length,
      videoMaxKbps: streams.filter((stream) => stream.source('video')).map(({ videoMaxKbps }) => videoMaxKbps),
    }
  }

  async #applyLimits(): Promise<void> {
    try {
      await Promise.all([this.#limitIncoming(), this.recv.limitOutgoing(outgoingBitrates(this.limits, this.#received))])
    } catch (error) {
      throw this.#closed ? this.#gone() : mediaError(`bandwidth of ${this.connectionId}`, error)
    }
  }

  #gone(): ServiceError {
    return new ServiceError('NOT_FOUND', `connection ${this.connectionId} has left`, { subject: 'connection' })
  }
}
