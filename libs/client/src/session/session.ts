import { type RecordingInfo, ServiceError, describePlatform } from '@session-service/contract'
import { type Capabilities, capabilitiesOf } from './capabilities.js'
import { systemClock } from '../platform/clock.js'
import type { Connection } from '../streams/connection.js'
import { Emitter } from '../platform/emitter.js'
import { allowedFiltersOf } from './filters.js'
import type { SessionEvents } from '../streams/events.js'
import type { VideoTarget } from '../media/player.js'
import { LocalParticipant } from './local-participant.js'
import { Publisher, type PublisherOptions, createPublisher } from '../streams/publisher.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import type { Stream } from '../streams/stream.js'
import type { SubscribeOptions, Subscriber } from '../streams/subscriber.js'
import { parseToken } from '../signalling/token.js'

export interface SessionOptions {
  /** Replaces the server's list. */
  iceServers?: RTCIceServer[]
  /** Configures the peer connections. Its `iceServers` replace the server's list when `iceServers` above is absent. */
  rtcConfiguration?: RTCConfiguration
}

export interface ConnectOptions {
  /** Data that all participants can read; an object is sent as JSON text. */
  clientData?: string | object
}

export interface SignalOptions {
  /** Listeners of `signal:<type>` receive signals of this type; listeners of `signal` receive all signals. */
  type?: string
  data?: string
  /** The recipients; empty or absent: all participants of the session. */
  to?: readonly (Connection | string)[]
}

export type SessionState = 'new' | 'connecting' | 'connected' | 'reconnecting' | 'disconnected'

const idOf = (value: Connection | string): string => (typeof value === 'string' ? value : value.connectionId)

/** One participation in a session, from `connect` to `sessionDisconnected`. Create a new `Session` to join again. */
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
  /** All participants by connection id, including the own connection. */
  get connections(): ReadonlyMap<string, Connection> {
    return this.#participant?.roster.connections ?? new Map()
  }
  /** All streams of the session by stream id, including own streams. */
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
  /** The running recordings by id, as far as the service reports them to this participant. */
  get recordings(): ReadonlyMap<string, RecordingInfo> {
    return this.#participant?.recordings.running ?? new Map()
  }
  /** The types of filters that the own role permits on own streams; a MODERATOR may apply them to all streams. */
  get allowedFilters(): readonly string[] {
    const participant = this.#participant?.state === 'disconnected' ? undefined : this.#participant
    return allowedFiltersOf(participant?.roster.own.role, participant?.joined.allowedFilters)
  }
  /** The actions that the own role permits; none before joining and after leaving. */
  get capabilities(): Capabilities {
    const participant = this.#participant?.state === 'disconnected' ? undefined : this.#participant
    return capabilitiesOf(participant?.roster.own.role)
  }

  /**
   * Joins with the token of a connection. Before the promise resolves, the session emits `connectionCreated` for the own
   * connection and for every present participant, and `streamCreated` for every present stream. Rejects with a
   * `ServiceError`: INVALID (malformed token), UNAUTHENTICATED (used, expired or unknown token), UNAVAILABLE (no server),
   * NO_CAPACITY (no media node), DISABLED (unsupported browser). A session that ends meanwhile, by the server or by a
   * listener, emits `sessionDisconnected` before the promise resolves, and has the `state` `disconnected` then.
   */
  async connect(token: string, { clientData = '' }: ConnectOptions = {}): Promise<Connection> {
    if (this.state !== 'new') throw new ServiceError('CONFLICT', `connect: this session is already ${this.state}`)
    const { url, secret } = parseToken(token)
    this.#stateWithoutParticipant = 'connecting'
    const participant = await this.#join(url, secret, clientData).catch((error: unknown) => {
      if (this.#stateWithoutParticipant === 'connecting') this.#stateWithoutParticipant = 'new'
      throw error
    })
    if (this.#stateWithoutParticipant !== 'connecting') {
      await participant.leave()
      throw new ServiceError('CONFLICT', 'connect: disconnect was called meanwhile')
    }
    this.#participant = participant
    participant.start()
    return participant.roster.own
  }

  /** Leaves the session. The own publishers emit `streamDestroyed`, then the session emits `sessionDisconnected`. */
  async disconnect(): Promise<void> {
    if (this.#stateWithoutParticipant === 'connecting' && !this.#participant)
      this.#stateWithoutParticipant = 'disconnected'
    if (this.#participant?.state !== 'disconnected') await this.#participant?.leave()
  }

  /**
   * Publishes camera and microphone, the sources of the options, or a publisher created before, and shows it in `target`.
   * Rejects with NOT_ALLOWED for a SUBSCRIBER, and with a `MediaError` when a device cannot be opened.
   */
  async publish(source: PublisherOptions | Publisher = {}, target?: VideoTarget): Promise<Publisher> {
    const participant = this.#require('publish')
    const publisher = source instanceof Publisher ? source : await createPublisher(source)
    const shownBefore = publisher.videos
    let shown: HTMLVideoElement | undefined
    try {
      if (target) shown = publisher.attach(target)
      await participant.publish(publisher)
      return publisher
    } catch (error) {
      if (publisher !== source) publisher.close()
      if (shown && !shownBefore.includes(shown)) publisher.detach(shown)
      throw error
    }
  }

  /** Ends an own publication and stops the tracks that the library opened. */
  unpublish(publisher: Publisher): Promise<void> {
    return publisher.unpublish()
  }

  /**
   * Subscribes to a stream and shows it in `target`. A repeated call for a stream returns the same subscriber. Rejects with
   * a `TypeError`, without subscribing, when the selector matches no element.
   */
  async subscribe(stream: Stream, target?: VideoTarget, options: SubscribeOptions = {}): Promise<Subscriber> {
    const participant = this.#require('subscribe')
    if (stream.connection.local) throw new ServiceError('INVALID', 'subscribe: the stream is an own stream')
    return participant.subscribe(stream, options, target)
  }

  async unsubscribe(subscriber: Subscriber): Promise<void> {
    const { streamId } = subscriber.stream
    const participant = this.#participant
    if (participant?.subscribers.get(streamId) !== subscriber) return
    participant.subscribers.delete(streamId)
    subscriber.destroyed()
    const request = (): Promise<unknown> => participant.call('unsubscribe', { streamId }).catch(ignoreNotFound)
    // The server lost a pending stream with its media node too, so a failure does not matter.
    await (participant.pendingStreams.has(streamId) ? request().catch(() => {}) : participant.media.run(request))
  }

  /**
   * Subscribes to the recognized speech of a participant: the session emits `speechToTextMessage` for all streams with
   * audio that the stream's connection publishes now or later. The stream may be an own stream. A call with another
   * language replaces the language. `lang` names a language model of the service, such as `en-US`. May take 10 s while the
   * service loads the model.
   *
   * The subscription ends with the participant, and with `unsubscribeFromSpeechToText`. The library restores it after a
   * failure of the recognition (`exception` with `SPEECH_TO_TEXT_DISCONNECTED`), of the network and of the media server.
   *
   * Rejects with a `ServiceError`: DISABLED (the service does not offer speech to text), CONFLICT (already subscribed to
   * this connection in this language), NOT_FOUND (no such language model, or the stream has ended), NOT_READY (the model
   * is not loaded), NO_CAPACITY (the media server cannot load another model), LAUNCH_FAILED (the model cannot be loaded),
   * LIMIT_REACHED (this participant has subscribed to 100 connections).
   */
  async subscribeToSpeechToText(stream: Stream, lang: string): Promise<void> {
    await this.#require('subscribe').speechToText.subscribe(stream, lang)
  }

  /** Ends the subscription to the speech of the stream's connection. Rejects with NOT_FOUND when there is none. */
  async unsubscribeFromSpeechToText(stream: Stream): Promise<void> {
    await this.#require('subscribe').speechToText.unsubscribe(stream)
  }

  /** Sends a message to participants; without `to` the sender receives it too. Resolves when the server accepts it. */
  async signal({ type, data = '', to = [] }: SignalOptions): Promise<void> {
    await this.#require('signal').call('signal', { data, to: to.map(idOf), ...(type && { type }) })
  }

  /** Evicts a participant with the reason `forceDisconnectByUser`. Only a MODERATOR may call it. */
  async forceDisconnect(connection: Connection | string): Promise<void> {
    await this.#require('forceDisconnect').call('forceDisconnect', { connectionId: idOf(connection) })
  }

  /** Ends a stream with the reason `forceUnpublishByUser`. Only a MODERATOR may call it. */
  async forceUnpublish(stream: Stream | string): Promise<void> {
    const streamId = typeof stream === 'string' ? stream : stream.streamId
    await this.#require('forceUnpublish').call('forceUnpublish', { streamId })
  }

  /** Restarts ICE on both media transports. The library does that automatically when media stops. */
  async restartIce(): Promise<void> {
    await this.#require('subscribe').media.run((engine) => engine.restartIce())
  }

  /** WebRTC statistics of both media transports. */
  async getStats(): Promise<{ send: RTCStatsReport; recv: RTCStatsReport }> {
    return this.#require('subscribe').media.run((engine) => engine.stats())
  }

  /** Drops the socket like a failing network; the library reconnects. For tests of an application. */
  dropSocket(): void {
    this.#require('subscribe').signalling.dropSocket()
  }

  async #join(url: string, secret: string, clientData: string | object): Promise<LocalParticipant> {
    const text = typeof clientData === 'string' ? clientData : JSON.stringify(clientData)
    const params = { token: secret, clientData: text, platform: describePlatform(navigator.userAgent) }
    return LocalParticipant.join(url, params, {
      ...this.#options,
      clock: systemClock,
      emit: (name, event) => this.emit(name, event),
    })
  }

  #require(capability: keyof Capabilities): LocalParticipant {
    const participant = this.#participant
    if (!participant || participant.state === 'disconnected')
      throw new ServiceError('NOT_ALLOWED', `${capability}: the session is not connected`)
    if (!this.capabilities[capability])
      throw new ServiceError('NOT_ALLOWED', `${capability}: the role ${participant.roster.own.role} does not permit it`)
    return participant
  }
}
