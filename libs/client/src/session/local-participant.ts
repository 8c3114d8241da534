import type {
  DisconnectReason,
  SessionSnapshot,
  SignallingMethod,
  SignallingParams,
  SignallingResult,
  StreamInfo,
} from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import { Filters } from './filters.js'
import { MediaRecovery } from './media-recovery.js'
import { DISTANT_SOCKET_MS, type Emit, type SessionContext } from '../streams/context.js'
import type { ExceptionName, SessionOrigin } from '../streams/events.js'
import { Experience } from '../streams/experience.js'
import { PendingPublications } from '../streams/pending-publications.js'
import { PendingStreams } from '../streams/pending-streams.js'
import { type Engine, type MediaLocation, type OpenEngine, engineOpener } from '../media/engine.js'
import { MediaConnection } from '../media/media-connection.js'
import { onPageHide } from '../platform/page.js'
import { type VideoTarget, resolveTarget } from '../media/player.js'
import type { Publisher } from '../streams/publisher.js'
import { Recordings } from './recordings.js'
import { RosterEvents } from './roster-events.js'
import { Roster, ownInfo } from './roster.js'
import type { RosterChange, ServerNotification } from '../signalling/notification.js'
import { type JoinResult, type JoinTimes, type ResumeResult, Signalling } from '../signalling/signalling.js'
import { emitSignal } from './signals.js'
import { SpeechToText } from './speech-to-text.js'
import type { Stream } from '../streams/stream.js'
import { type SubscribeOptions, Subscriber } from '../streams/subscriber.js'

interface LocalParticipantOptions {
  readonly clock: Clock
  readonly iceServers?: RTCIceServer[] | undefined
  readonly rtcConfiguration?: RTCConfiguration | undefined
  readonly emit: Emit
  /** Default: the engine of this browser. */
  readonly openEngine?: OpenEngine
}

const LEAVE_TIMEOUT_MS = 1_000

/** The participation from joining to leaving: signalling, media, the roster, and the handling of each notification. */
export class LocalParticipant implements SessionContext {
  readonly publishers = new Map<string, Publisher>()
  readonly pendingPublications = new PendingPublications(this)
  readonly subscribers = new Map<string, Subscriber>()
  readonly roster: Roster
  readonly pendingStreams = new PendingStreams()
  readonly receiverLimits = new Map<string, number>()
  readonly recordings = new Recordings(this, (name, event) => this.#options.emit(name, event))
  readonly speechToText: SpeechToText
  readonly #filters = new Filters(this)
  readonly media: MediaConnection
  readonly experience: Experience
  state: 'connected' | 'reconnecting' | 'disconnected' = 'connected'
  /** A socket is open, or the client is moving to another server without interrupting the session. */
  #socketIsUp = true
  /** The media transports exist, and the streams that were available have been restored. */
  #mediaIsUp = true
  readonly #mediaRecovery: MediaRecovery
  readonly #rosterEvents = new RosterEvents(this, (name, event) => this.#options.emit(name, event))
  #stopPageListener = (): void => {}
  readonly isDistant: boolean
  readonly #options: LocalParticipantOptions

  private constructor(
    readonly joined: JoinResult,
    readonly signalling: Signalling,
    engine: Engine,
    open: (place: MediaLocation) => Promise<Engine>,
    times: JoinTimes,
    options: LocalParticipantOptions,
  ) {
    this.#options = options
    this.experience = new Experience(times, this)
    this.isDistant = times.socketMs >= DISTANT_SOCKET_MS
    this.roster = new Roster(ownInfo(joined), this.#filters, joined.record)
    this.speechToText = new SpeechToText({
      session: this,
      connection: (connectionId) => this.roster.connections.get(connectionId),
      emit: options.emit,
    })
    this.#mediaRecovery = new MediaRecovery({
      session: this,
      streamIds: () => this.roster.streams.keys(),
      isOnline: () => this.#socketIsUp,
      onChange: (isUp) => {
        this.#mediaIsUp = isUp
        this.#updateState()
      },
    })
    this.media = new MediaConnection(engine, joined.snapshot.mediaEpoch, {
      clock: options.clock,
      open,
      rejoin: () => signalling.call('rejoin', {}),
      onLost: () => {
        // The limits came from receivers at the lost node.
        this.receiverLimits.clear()
        this.#mediaRecovery.mediaLost()
      },
      onRejoined: (snapshot) => this.#applySnapshot(snapshot),
      onRestored: (back) => {
        void this.#mediaRecovery.mediaRestored(back)
        this.speechToText.repeatAll()
      },
      onRefused: () => this.#rejoinRefused(),
    })
  }

  /** Rejects with a `ServiceError`. Emits no event before `start`. */
  static async join(
    url: string,
    params: SignallingParams<'join'>,
    options: LocalParticipantOptions,
  ): Promise<LocalParticipant> {
    const openEngine = options.openEngine ?? engineOpener()
    let participant: LocalParticipant | undefined
    const { joined, signalling, times } = await Signalling.join(url, params, options.clock, {
      notified: (notification) => participant && participant.#notified(notification),
      reconnecting: () => participant && participant.#socketLost(),
      resumed: (result) => participant && participant.#socketResumed(result),
      lost: () => participant?.end('networkDisconnect'),
    })
    const open = (place: MediaLocation): Promise<Engine> =>
      openEngine(place, {
        ...options,
        call: (method, call) => signalling.call(method, call),
        stateChanged: (state) => participant?.experience.stateChanged(state),
        exception: (name, direction) => participant && participant.#iceException(name, direction),
      })
    try {
      participant = new LocalParticipant(joined, signalling, await open(joined), open, times, options)
      return participant
    } catch (error) {
      await signalling.leave(LEAVE_TIMEOUT_MS)
      throw error
    }
  }

  get clock(): Clock {
    return this.#options.clock
  }
  get simulcast(): boolean {
    return this.joined.simulcast
  }
  get maxSendKbps(): number {
    return this.joined.maxSendKbps
  }
  get minSendKbps(): number {
    return this.joined.minSendKbps
  }
  get ownConnectionId(): string {
    return this.joined.connectionId
  }

  call<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    return this.signalling.call(method, params)
  }

  exception(name: ExceptionName, message: string, origin: SessionOrigin): void {
    this.#options.emit('exception', { name, message, origin })
  }

  changed(change: RosterChange): void {
    this.#rosterEvents.emitAll(this.roster.apply(change))
  }

  stream(streamId: string): Stream | undefined {
    return this.roster.streams.get(streamId)
  }

  /** Emits the events of the joined session's state, then those of all notifications. */
  start(): void {
    this.#stopPageListener = onPageHide(() => (this.experience.stop(), this.signalling.notifyLeave()))
    this.#options.emit('connectionCreated', { connection: this.roster.own })
    this.#rosterEvents.emitAll(this.roster.applySnapshot(this.joined.snapshot))
    this.recordings.applySnapshot(this.joined.snapshot.recordings)
    // A listener may have ended the session.
    if (this.state === 'disconnected') return
    this.signalling.start()
    this.experience.start()
    // Runs after the requests that the application sends now, because creating transports takes as long as an answer.
    this.clock.after(0, () => this.media.engine.createTransports())
  }

  /** Publishes. Rejects with the server's error; the application may then try again. */
  publish(publisher: Publisher): Promise<void> {
    return this.pendingPublications.run(publisher, () => publisher.publish(this))
  }

  /** Subscribes, or returns the subscriber of an earlier call. Rejects with the server's error; the caller may try again. */
  async subscribe(stream: Stream, options: SubscribeOptions = {}, target?: VideoTarget): Promise<Subscriber> {
    const element = target && resolveTarget(target)
    const { streamId } = stream
    const subscriber = this.subscribers.get(streamId) ?? new Subscriber(this, stream, options)
    this.subscribers.set(streamId, subscriber)
    try {
      await subscriber.established()
    } catch (error) {
      if (this.subscribers.get(streamId) === subscriber) this.subscribers.delete(streamId)
      subscriber.destroyed()
      throw error
    }
    if (element) subscriber.attach(element)
    return subscriber
  }

  async leave(): Promise<void> {
    this.experience.stop()
    const left = this.signalling.leave(LEAVE_TIMEOUT_MS)
    this.end('disconnect')
    await left
  }

  /** Ends own streams first, then received streams, then the session. */
  end(reason: DisconnectReason): void {
    if (this.state === 'disconnected') return
    this.state = 'disconnected'
    this.#stopPageListener()
    this.#mediaRecovery.stop()
    this.experience.stop()
    this.signalling.close()
    for (const publisher of [...this.publishers.values(), ...this.pendingPublications.publishers])
      publisher.destroyed(reason)
    for (const subscriber of this.subscribers.values()) subscriber.destroyed(reason)
    for (const collection of [this.publishers, this.subscribers, this.pendingPublications]) collection.clear()
    this.pendingStreams.close()
    this.speechToText.close()
    this.media.close()
    this.#options.emit('sessionDisconnected', { reason })
  }

  #notified(notification: ServerNotification): void {
    if (this.state === 'disconnected') return
    switch (notification.method) {
      case 'signal':
        return emitSignal(notification.params, this.roster.connections, this.#options.emit)
      case 'layersChanged':
        return this.subscribers.get(notification.params.streamId)?.layersChanged(notification.params.layers)
      case 'subscriptionReplaced':
        return this.subscribers.get(notification.params.streamId)?.replaced()
      case 'sendLimitChanged':
        return this.#sendLimitChanged(notification.params)
      case 'snapshot':
        this.media.epochSeen(notification.params.mediaEpoch)
        return this.#applySnapshot(notification.params)
      case 'sessionDisconnected':
        return this.end(notification.params.reason)
      case 'mediaLost':
        return this.media.epochSeen(notification.params.mediaEpoch, notification.params.afterMs)
      case 'streamCreated':
        return this.#streamCreated(notification.params)
      case 'streamDestroyed':
        this.pendingPublications.ended(notification.params)
        return this.changed(notification)
      case 'recordingStarted':
        return this.recordings.started(notification.params)
      case 'recordingStopped':
        return this.recordings.stopped(notification.params)
      case 'speechToTextMessage':
        return this.speechToText.messageReceived(notification.params)
      case 'speechToTextDisconnected':
        return this.speechToText.disconnected(notification.params)
      case 'filterEventDispatched':
        return this.#filters.dispatched(notification.params)
      case 'reconnect':
      case 'trackReplaced':
        // Signalling handles `reconnect`; after `trackReplaced` the same consumer continues.
        return undefined
      default:
        return this.changed(notification)
    }
  }

  #socketLost(): void {
    this.#socketIsUp = false
    this.#updateState()
  }

  #socketResumed({ snapshot, ...rights }: ResumeResult): void {
    this.#socketIsUp = true
    this.media.epochSeen(snapshot.mediaEpoch)
    this.#updateState()
    this.#rosterEvents.emitAll(this.roster.applyRights(rights))
    this.#applySnapshot(snapshot)
    this.media.engine.signallingResumed()
    this.speechToText.repeatAll()
  }

  /** Emits one event when the socket and the media are lost together. */
  #updateState(): void {
    if (this.state === 'disconnected') return
    const state = this.#socketIsUp && this.#mediaIsUp ? 'connected' : 'reconnecting'
    if (state === this.state) return
    this.state = state
    this.#options.emit(state === 'connected' ? 'reconnected' : 'reconnecting', undefined)
  }

  /** The server refused `rejoin` but has not evicted the participant. */
  #rejoinRefused(): void {
    void this.signalling.leave(LEAVE_TIMEOUT_MS)
    this.end('nodeCrashed')
  }

  /** Keeps lost streams that the snapshot does not contain: their publishers have not restored them yet. */
  #applySnapshot(snapshot: SessionSnapshot): void {
    const known = this.pendingPublications.withoutUnknown(snapshot)
    const shown = this.pendingStreams.withPending(known, this.roster.snapshot())
    this.#rosterEvents.emitAll(this.roster.applySnapshot(shown))
    for (const { streamId, connectionId } of snapshot.streams)
      if (connectionId !== this.ownConnectionId) this.#streamReturned(streamId, connectionId)
    this.recordings.applySnapshot(snapshot.recordings)
    this.pendingPublications.unpublishUnknown(snapshot)
  }

  #streamCreated(info: StreamInfo): void {
    const isOwn = info.connectionId === this.ownConnectionId
    if (isOwn || !this.pendingStreams.has(info.streamId)) return this.changed({ method: 'streamCreated', params: info })
    this.#streamReturned(info.streamId, info.connectionId)
    this.#rosterEvents.emitAll(this.roster.streamRestored(info))
  }

  #streamReturned(streamId: string, connectionId: string): void {
    this.pendingStreams.restored(streamId)
    this.speechToText.publisherReturned(connectionId)
  }

  #iceException(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED', origin: 'send' | 'recv'): void {
    const problem = name === 'ICE_CONNECTION_FAILED' ? 'cannot reach the server' : 'is interrupted'
    this.exception(name, `the media of transport "${origin}" ${problem}`, origin)
  }

  /** Stores the limit first: the notification may arrive before the answer to `publish`. */
  #sendLimitChanged({ streamId, maxKbps }: { streamId: string; maxKbps: number }): void {
    this.receiverLimits.set(streamId, maxKbps)
    this.publishers.get(streamId)?.fitEncodings()
  }
}
