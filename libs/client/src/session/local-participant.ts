import type {
  DisconnectReason,
  SessionSnapshot,
  SignallingMethod,
  SignallingParams,
  SignallingResult,
  StreamInfo,
} from '@session-service/contract'
import type { Clock } from '../platform/clock.js'
import { MediaRecovery } from './media-recovery.js'
import type { Emit, SessionContext } from '../streams/context.js'
import type { ExceptionName, SessionOrigin, SignalEvent } from '../streams/events.js'
import { PendingStreams } from '../streams/pending-streams.js'
import { type Engine, type MediaLocation, type OpenEngine, engineOpener } from '../media/engine.js'
import { MediaConnection } from '../media/media-connection.js'
import { onPageHide } from '../platform/page.js'
import type { Publisher } from '../streams/publisher.js'
import { Recordings } from './recordings.js'
import { RosterEvents } from './roster-events.js'
import { Roster, ownInfo } from './roster.js'
import type { RosterSnapshot, RosterChange, ServerNotification } from '../signalling/notification.js'
import { type JoinResult, type ResumeResult, Signalling } from '../signalling/signalling.js'
import type { Stream } from '../streams/stream.js'
import type { Subscriber } from '../streams/subscriber.js'

export interface LocalParticipantOptions {
  readonly clock: Clock
  readonly iceServers?: RTCIceServer[] | undefined
  readonly rtcConfiguration?: RTCConfiguration | undefined
  readonly emit: Emit
  /** Default: that of this browser. */
  readonly openEngine?: OpenEngine
}

const LEAVE_MS = 1_000

/** What there is from joining to leaving: the line to the server, the media, who is there, and what comes of each message. */
export class LocalParticipant implements SessionContext {
  readonly publishers = new Map<string, Publisher>()
  /** Being published: the server's answer is still out. */
  readonly #publishing = new Set<Publisher>()
  /** Own streams of a snapshot that may be of those, or of one that failed for want of an answer. */
  readonly #possibleOrphans = new Set<string>()
  readonly subscribers = new Map<string, Subscriber>()
  readonly roster: Roster
  readonly pendingStreams = new PendingStreams()
  readonly receiverLimits = new Map<string, number>()
  readonly recordings = new Recordings((name, event) => this.#options.emit(name, event))
  readonly media: MediaConnection
  state: 'connected' | 'reconnecting' | 'disconnected' = 'connected'
  /** There is a socket, or one that moves without a word. */
  #socketIsUp = true
  /** …and own and received streams flow, as far as they can. */
  #mediaIsUp = true
  readonly #mediaRecovery: MediaRecovery
  readonly #rosterEvents = new RosterEvents(this, (name, event) => this.#options.emit(name, event))
  #stopPageListener = (): void => {}
  readonly #options: LocalParticipantOptions

  private constructor(
    readonly joined: JoinResult,
    readonly signalling: Signalling,
    engine: Engine,
    open: (place: MediaLocation) => Promise<Engine>,
    options: LocalParticipantOptions,
  ) {
    this.#options = options
    this.roster = new Roster(ownInfo(joined))
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
        // The receivers at the lost node are gone with it.
        this.receiverLimits.clear()
        this.#mediaRecovery.mediaLost()
      },
      onRejoined: (snapshot) => this.#applySnapshot(snapshot),
      onRestored: (back) => void this.#mediaRecovery.mediaRestored(back),
      onRefused: () => this.#rejoinRefused(),
    })
  }

  /** Rejects with a `ServiceError`. Nothing is told to the application before `start`. */
  static async join(
    url: string,
    params: SignallingParams<'join'>,
    options: LocalParticipantOptions,
  ): Promise<LocalParticipant> {
    const openEngine = options.openEngine ?? engineOpener()
    let participant: LocalParticipant | undefined
    const { joined, signalling } = await Signalling.join(url, params, options.clock, {
      notified: (notification) => participant?.notified(notification),
      reconnecting: () => participant?.socketLost(),
      resumed: (result) => participant?.socketResumed(result),
      lost: () => participant?.end('networkDisconnect'),
    })
    const open = (place: MediaLocation): Promise<Engine> =>
      openEngine(place, {
        ...options,
        call: (method, call) => signalling.call(method, call),
        exception: (name, direction) => participant?.iceException(name, direction),
      })
    try {
      participant = new LocalParticipant(joined, signalling, await open(joined), open, options)
      return participant
    } catch (error) {
      await signalling.leave(LEAVE_MS)
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

  /** Tells who is there, then all that comes. */
  start(): void {
    this.#stopPageListener = onPageHide(() => this.signalling.notifyLeave())
    this.#options.emit('connectionCreated', { connection: this.roster.own })
    this.#rosterEvents.emitAll(this.roster.applySnapshot(this.joined.snapshot))
    this.recordings.applySnapshot(this.joined.snapshot.recordings)
    this.signalling.start()
    // After what the application has just asked for is on its way: the answer takes as long as making these.
    this.clock.after(0, () => this.media.engine.createTransports())
  }

  /** Sends it. Rejects with the server's error; then it may be tried again. */
  async publish(publisher: Publisher): Promise<void> {
    this.#publishing.add(publisher)
    try {
      await publisher.publish(this)
    } finally {
      this.#publishing.delete(publisher)
      this.#unpublishOrphans()
    }
  }

  async leave(): Promise<void> {
    const left = this.signalling.leave(LEAVE_MS)
    this.end('disconnect')
    await left
  }

  /** Whatever the cause: own streams end first, then all that was received, then the session. */
  end(reason: DisconnectReason): void {
    if (this.state === 'disconnected') return
    this.state = 'disconnected'
    this.#stopPageListener()
    this.#mediaRecovery.stop()
    this.signalling.close()
    for (const publisher of [...this.publishers.values(), ...this.#publishing]) publisher.destroyed(reason)
    for (const subscriber of this.subscribers.values()) subscriber.destroyed(reason)
    for (const collection of [this.publishers, this.subscribers, this.#publishing]) collection.clear()
    this.pendingStreams.close()
    this.media.close()
    this.#options.emit('sessionDisconnected', { reason })
  }

  private notified(notification: ServerNotification): void {
    if (this.state === 'disconnected') return
    switch (notification.method) {
      case 'signal':
        return this.#signalReceived(notification.params)
      case 'layersChanged':
        return this.subscribers.get(notification.params.streamId)?.layersChanged(notification.params.layers)
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
      case 'recordingStarted':
        return this.recordings.started(notification.params)
      case 'recordingStopped':
        return this.recordings.stopped(notification.params)
      case 'reconnect':
        // The line to the server sees to that by itself.
        return undefined
      default:
        return this.changed(notification)
    }
  }

  private socketLost(): void {
    this.#socketIsUp = false
    this.#updateState()
  }

  private socketResumed({ role, snapshot }: ResumeResult): void {
    this.#socketIsUp = true
    this.media.epochSeen(snapshot.mediaEpoch)
    this.#updateState()
    const params = { connectionId: this.ownConnectionId, changedProperty: 'role', newValue: role } as const
    this.changed({ method: 'connectionPropertyChanged', params })
    this.#applySnapshot(snapshot)
    for (const streamId of this.#unknownOwn(snapshot)) this.#possibleOrphans.add(streamId)
    this.#unpublishOrphans()
    this.media.engine.signallingResumed()
  }

  /** One event however much is away at once. */
  #updateState(): void {
    if (this.state === 'disconnected') return
    const state = this.#socketIsUp && this.#mediaIsUp ? 'connected' : 'reconnecting'
    if (state === this.state) return
    this.state = state
    this.#options.emit(state === 'connected' ? 'reconnected' : 'reconnecting', undefined)
  }

  /** The server does not let this participant go on, though it has not said that it is out. */
  #rejoinRefused(): void {
    void this.signalling.leave(LEAVE_MS)
    this.end('nodeCrashed')
  }

  /** Lost streams that a snapshot does not show are not back yet. */
  #applySnapshot(snapshot: SessionSnapshot): void {
    const shown = this.pendingStreams.withPending(this.#withoutUnknownOwn(snapshot), this.roster.snapshot())
    this.#rosterEvents.emitAll(this.roster.applySnapshot(shown))
    for (const { streamId, connectionId } of snapshot.streams)
      if (connectionId !== this.ownConnectionId) this.pendingStreams.restored(streamId)
    this.recordings.applySnapshot(snapshot.recordings)
  }

  #streamCreated(info: StreamInfo): void {
    const isOwn = info.connectionId === this.ownConnectionId
    if (isOwn || !this.pendingStreams.has(info.streamId)) return this.changed({ method: 'streamCreated', params: info })
    this.pendingStreams.restored(info.streamId)
    this.#rosterEvents.emitAll(this.roster.streamRestored(info))
  }

  private iceException(name: 'ICE_CONNECTION_FAILED' | 'ICE_CONNECTION_DISCONNECTED', origin: 'send' | 'recv'): void {
    const what = name === 'ICE_CONNECTION_FAILED' ? 'cannot reach the server' : 'does not get through'
    this.exception(name, `the media of transport "${origin}" ${what}`, origin)
  }

  /** It may come before the answer to `publish`. */
  #sendLimitChanged({ streamId, maxKbps }: { streamId: string; maxKbps: number }): void {
    this.receiverLimits.set(streamId, maxKbps)
    this.publishers.get(streamId)?.fitEncodings()
  }

  #signalReceived({ type, data, from }: { type: string; data: string; from?: string | undefined }): void {
    const sender = from === undefined ? undefined : this.roster.connections.get(from)
    const event: SignalEvent = { type, data, ...(sender && { from: sender }) }
    this.#options.emit('signal', event)
    if (type.startsWith('signal:')) this.#options.emit(type as `signal:${string}`, event)
  }

  /** What is being published is added when its answer comes; what failed here for want of an answer never is. */
  #withoutUnknownOwn(snapshot: RosterSnapshot): RosterSnapshot {
    const unknown = this.#unknownOwn(snapshot)
    return {
      connections: snapshot.connections,
      streams: snapshot.streams.filter(({ streamId }) => !unknown.includes(streamId)),
    }
  }

  #unknownOwn({ streams }: RosterSnapshot): string[] {
    return streams
      .filter(({ connectionId, streamId }) => connectionId === this.ownConnectionId && !this.publishers.has(streamId))
      .map(({ streamId }) => streamId)
  }

  /** Publications that the server made though its answer was lost with the socket: the caller was told they failed. */
  #unpublishOrphans(): void {
    if (this.#publishing.size > 0 || this.state === 'disconnected') return
    for (const streamId of this.#possibleOrphans)
      if (!this.publishers.has(streamId)) this.call('unpublish', { streamId }).catch(() => {})
    this.#possibleOrphans.clear()
  }
}
