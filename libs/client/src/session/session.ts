import { type RecordingInfo, ServiceError, describePlatform } from '@session-service/contract'
import { type Capabilities, capabilitiesOf } from './capabilities.js'
import { systemClock } from '../platform/clock.js'
import type { Connection } from '../streams/connection.js'
import { Emitter } from '../platform/emitter.js'
import type { SessionEvents } from '../streams/events.js'
import type { VideoTarget } from '../media/player.js'
import { LocalParticipant } from './local-participant.js'
import { Publisher, type PublisherOptions, createPublisher } from '../streams/publisher.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import type { Stream } from '../streams/stream.js'
import { type SubscribeOptions, Subscriber } from '../streams/subscriber.js'
import { parseToken } from '../signalling/token.js'

export interface SessionOptions {
  /** Used instead of the list of the server. */
  iceServers?: RTCIceServer[]
  /** For the peer connections; its `iceServers` are used instead of the server's when `iceServers` above is absent. */
  rtcConfiguration?: RTCConfiguration
}

export interface ConnectOptions {
  /** What the other participants see of this one; an object is sent as JSON text. */
  clientData?: string | object
}

export interface SignalOptions {
  /** Listeners of `signal:<type>` get it, and those of `signal` every one. */
  type?: string
  data?: string
  /** Who gets it; empty or absent: everybody in the session. */
  to?: readonly (Connection | string)[]
}

export type SessionState = 'new' | 'connecting' | 'connected' | 'reconnecting' | 'disconnected'

const idOf = (value: Connection | string): string => (typeof value === 'string' ? value : value.connectionId)

/** One participation in a session: from `connect` to `sessionDisconnected`. For another one make another `Session`. */
export class Session extends Emitter<SessionEvents> {
  readonly #options: SessionOptions
  #participant: LocalParticipant | undefined
  #stateWithoutParticipant: 'new' | 'connecting' | 'disconnected' = 'new'

  constructor(options: SessionOptions = {}) {
    super()
    this.#options = options
  }

  get state(): SessionState {
    return this.#participant?.state ?? this.#stateWithoutParticipant
  }
  /** Empty before joining. */
  get sessionId(): string {
    return this.#participant?.joined.sessionId ?? ''
  }
  /** The own connection; undefined before joining. */
  get connection(): Connection | undefined {
    return this.#participant?.roster.own
  }
  /** Everybody, oneself included, by connection id. */
  get connections(): ReadonlyMap<string, Connection> {
    return this.#participant?.roster.connections ?? new Map()
  }
  /** Every stream of the session, the own ones included, by stream id. */
  get streams(): ReadonlyMap<string, Stream> {
    return this.#participant?.roster.streams ?? new Map()
  }
  /** The own publications by stream id. */
  get publishers(): ReadonlyMap<string, Publisher> {
    return this.#participant?.publishers ?? new Map()
  }
  get subscribers(): ReadonlyMap<string, Subscriber> {
    return this.#participant?.subscribers ?? new Map()
  }
  /** What is being recorded, by id, as far as one is told. */
  get recordings(): ReadonlyMap<string, RecordingInfo> {
    return this.#participant?.recordings.running ?? new Map()
  }
  /** What the own role may do now; nothing before joining and after leaving. */
  get capabilities(): Capabilities {
    const participant = this.#participant?.state === 'disconnected' ? undefined : this.#participant
    return capabilitiesOf(participant?.roster.own.role)
  }

  /**
   * Joins with a connection's token. Before it resolves `connectionCreated` is told of the own connection and of
   * everybody there, and `streamCreated` of every stream there. Rejects with a `ServiceError`: INVALID token,
   * UNAUTHENTICATED (used, over or unknown), UNAVAILABLE (no server), NO_CAPACITY (no media node), DISABLED (this
   * browser cannot).
   */
  async connect(token: string, { clientData = '' }: ConnectOptions = {}): Promise<Connection> {
    if (this.state !== 'new') throw new ServiceError('CONFLICT', `connect: this session is ${this.state} already`)
    const { url, secret } = parseToken(token)
    this.#stateWithoutParticipant = 'connecting'
    const participant = await this.#join(url, secret, clientData).catch((error: unknown) => {
      if (this.#stateWithoutParticipant === 'connecting') this.#stateWithoutParticipant = 'new'
      throw error
    })
    if (this.#stateWithoutParticipant !== 'connecting') {
      await participant.leave()
      throw new ServiceError('CONFLICT', 'connect: disconnected meanwhile')
    }
    this.#participant = participant
    participant.start()
    return participant.roster.own
  }

  /** Leaves. Everything of it ends, with `streamDestroyed` on the own publishers and `sessionDisconnected` here. */
  async disconnect(): Promise<void> {
    if (this.#stateWithoutParticipant === 'connecting' && !this.#participant)
      this.#stateWithoutParticipant = 'disconnected'
    if (this.#participant?.state !== 'disconnected') await this.#participant?.leave()
  }

  /**
   * Publishes camera and microphone, or what the options say, or a publisher made before. Shown in `target` when given.
   * Rejects with NOT_ALLOWED for a SUBSCRIBER, with a `MediaError` when a device cannot be had.
   */
  async publish(what: PublisherOptions | Publisher = {}, target?: VideoTarget): Promise<Publisher> {
    const participant = this.#require('publish')
    const publisher = what instanceof Publisher ? what : await createPublisher(what)
    try {
      if (target) publisher.attach(target)
      await participant.publish(publisher)
      return publisher
    } catch (error) {
      if (publisher !== what) publisher.close()
      throw error
    }
  }

  /** Ends an own publication; tracks that the library opened are stopped. */
  unpublish(publisher: Publisher): Promise<void> {
    return publisher.unpublish()
  }

  /** Receives a stream; shown in `target` when given. One subscription a stream: asked for again, the same is given. */
  async subscribe(stream: Stream, target?: VideoTarget, options: SubscribeOptions = {}): Promise<Subscriber> {
    const participant = this.#require('subscribe')
    if (stream.connection.local) throw new ServiceError('INVALID', 'subscribe: the stream is one of your own')
    const subscriber = participant.subscribers.get(stream.streamId) ?? new Subscriber(participant, stream, options)
    participant.subscribers.set(stream.streamId, subscriber)
    try {
      await subscriber.established()
    } catch (error) {
      if (participant.subscribers.get(stream.streamId) === subscriber) participant.subscribers.delete(stream.streamId)
      subscriber.destroyed()
      throw error
    }
    if (target) subscriber.attach(target)
    return subscriber
  }

  async unsubscribe(subscriber: Subscriber): Promise<void> {
    const { streamId } = subscriber.stream
    const participant = this.#participant
    if (participant?.subscribers.get(streamId) !== subscriber) return
    participant.subscribers.delete(streamId)
    subscriber.destroyed()
    const tell = (): Promise<unknown> => participant.call('unsubscribe', { streamId }).catch(ignoreNotFound)
    // What is lost with its node the server does not have either.
    await (participant.pendingStreams.has(streamId) ? tell().catch(() => {}) : participant.media.run(tell))
  }

  /** Sends a message to others of the session; the sender is one of "everybody". Resolves when the server has taken it. */
  async signal({ type, data = '', to = [] }: SignalOptions): Promise<void> {
    await this.#require('signal').call('signal', { data, to: to.map(idOf), ...(type && { type }) })
  }

  /** Of a MODERATOR: puts a participant out, who is told `forceDisconnectByUser`. */
  async forceDisconnect(connection: Connection | string): Promise<void> {
    await this.#require('forceDisconnect').call('forceDisconnect', { connectionId: idOf(connection) })
  }

  /** Of a MODERATOR: ends a stream of anybody, with the reason `forceUnpublishByUser`. */
  async forceUnpublish(stream: Stream | string): Promise<void> {
    const streamId = typeof stream === 'string' ? stream : stream.streamId
    await this.#require('forceUnpublish').call('forceUnpublish', { streamId })
  }

  /** Makes both media transports find their way anew, as the library does by itself when media stops. */
  async restartIce(): Promise<void> {
    await this.#require('subscribe').media.run((engine) => engine.restartIce())
  }

  /** WebRTC statistics of both media transports. */
  async getStats(): Promise<{ send: RTCStatsReport; recv: RTCStatsReport }> {
    return this.#require('subscribe').media.run((engine) => engine.stats())
  }

  /** Drops the socket as a failing network would; the library reconnects. For tests of an application. */
  dropSocket(): void {
    this.#require('subscribe').signalling.dropSocket()
  }

  #join(url: string, secret: string, clientData: string | object): Promise<LocalParticipant> {
    const text = typeof clientData === 'string' ? clientData : JSON.stringify(clientData)
    const params = { token: secret, clientData: text, platform: describePlatform(navigator.userAgent) }
    return LocalParticipant.join(url, params, {
      ...this.#options,
      clock: systemClock,
      emit: (name, event) => this.emit(name, event),
    })
  }

  #require(right: keyof Capabilities): LocalParticipant {
    const participant = this.#participant
    if (!participant || participant.state === 'disconnected')
      throw new ServiceError('NOT_ALLOWED', `${right}: the session is not connected`)
    if (!this.capabilities[right])
      throw new ServiceError('NOT_ALLOWED', `${right}: the role ${participant.roster.own.role} does not allow it`)
    return participant
  }
}
