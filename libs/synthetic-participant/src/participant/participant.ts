import {
  type IceParameters,
  type NotificationParams,
  type SessionSnapshot,
  SIGNALLING_LIMITS,
  type SignallingMethod,
  type SignallingNotification,
  type SignallingParams,
  type SignallingResult,
  type StreamInfo,
  type TransportDirection,
} from '@session-service/contract'
import { SignallingClient } from '../signalling/signalling-client.js'
import { type Certificate, ownCertificate } from '../transport/dtls.js'
import { EventLog, type EventOf, type ReceivedEvent } from './event-log.js'
import { MediaExchange } from './exchange.js'
import { MediaRecovery, type MediaRecoveryEvent } from './media-recovery.js'
import type { TransportFigures } from '../transport/media-transport.js'
import { epochMs } from '../rtp/pacer.js'
import type { ChangeStream, ChangeSubscription, JoinOptions, PublishedStream } from './participant-types.js'
import type { PublishOptions } from '../tracks/publication.js'
import type { Subscription } from '../tracks/subscription.js'

/** The time limit of the closing handshake. */
const CLOSE_TIMEOUT_MS = 1_000

async function openSocket(url: string, log: EventLog): Promise<SignallingClient> {
  const socket = await SignallingClient.open(url)
  socket.onNotification(({ method, params, at }) => log.add({ method, params, at } as ReceivedEvent))
  return socket
}

/**
 * A participant without a browser, with real signalling, ICE, DTLS and SRTP, an Opus tone and grey VP8 video. One process
 * can run many of them. All times are epoch ms with fractions. A call that the server refuses rejects with a
 * SignallingError, which has the error code.
 */
export class SyntheticParticipant {
  readonly #streams = new Map<string, StreamInfo>()
  readonly #exchange: MediaExchange
  readonly #recovery: MediaRecovery
  #socket: SignallingClient
  /** The server closes these; `close` terminates those that are still open. */
  readonly #formerSockets: SignallingClient[] = []
  /** The time of the answer to `join`. */
  readonly joinedAt = epochMs()
  readonly #log: EventLog
  #isClosed = false

  private constructor(
    /** The URL of the first socket. */
    readonly url: string,
    log: EventLog,
    socket: SignallingClient,
    /** The complete answer to `join`. */
    readonly joined: SignallingResult<'join'>,
    certificate: Certificate,
    { rejoins = true, ...link }: JoinOptions,
  ) {
    this.#log = log

    this.#socket = socket
    const exchange = (this.#exchange = new MediaExchange(
      joined,
      certificate,
      (method, params) => this.#socket.request(method, params),
      link,
    ))
    this.#recovery = new MediaRecovery(
      { lost: () => exchange.lost(), rejoin: () => this.#rejoin(), renew: (rejoined) => exchange.renew(rejoined) },
      joined.snapshot.mediaEpoch,
    )
    if (!rejoins) this.#recovery.stop()
    socket.keepAlive(joined.pingInterval)
    this.#applySnapshot(joined.snapshot)
    this.#handleNotifications()
    // Notifications that arrived together with the answer to `join`, such as a loss of media.
    log.replay()
  }

  /**
   * Joins a session.
   * @param token the token of the REST API: `ws(s)://host/service/signalling?sessionId=…&token=tok_…`
   */
  static async join(token: string, options: JoinOptions = {}): Promise<SyntheticParticipant> {
    const { clientData = '', platform } = options
    const log = new EventLog()
    const [certificate, socket] = await Promise.all([ownCertificate(), openSocket(token, log)])
    try {
      const joined = await socket.join({ clientData, ...(platform && { platform }) }, { keepAlive: false })
      return new SyntheticParticipant(token, log, socket, joined, certificate, options)
    } catch (error) {
      socket.terminate()
      throw error
    }
  }

  get connectionId(): string {
    return this.joined.connectionId
  }

  /** All received notifications in order, with their times of arrival. */
  get events(): readonly ReceivedEvent[] {
    return this.#log.all
  }

  /** The streams of the session that this participant knows. */
  get streams(): readonly StreamInfo[] {
    return [...this.#streams.values()]
  }

  get published(): readonly PublishedStream[] {
    return this.#exchange.published
  }

  get subscriptions(): readonly Subscription[] {
    return this.#exchange.subscriptions
  }

  /** Resolves when the current socket closes. */
  get socketClosed(): Promise<{ code: number; reason: string }> {
    return this.#socket.closed
  }

  /** The server's violations of the protocol schemas. */
  get violations(): readonly string[] {
    return this.#socket.violations
  }

  /** Adds a listener for a notification and returns a function that removes it. */
  on<N extends SignallingNotification>(method: N, listener: (event: EventOf<N>) => void): () => void {
    return this.#log.on(method, listener)
  }

  /** Resolves to the first matching notification since joining; rejects after `deadlineMs` (default 5000). */
  waitFor<N extends SignallingNotification>(
    method: N,
    predicate?: (params: NotificationParams<N>) => boolean,
    deadlineMs?: number,
  ): Promise<EventOf<N>> {
    return this.#log.waitFor(method, predicate, deadlineMs)
  }

  /** The epoch of the current media. */
  get mediaEpoch(): number {
    return this.#recovery.mediaEpoch
  }

  /** The losses and restorations of the session's media. */
  get mediaRecoveries(): readonly MediaRecoveryEvent[] {
    return this.#recovery.events
  }

  /** Publishes a stream and sends it until it is unpublished, destroyed or the participant closes. */
  publish(options: PublishOptions = {}): Promise<PublishedStream> {
    return this.#exchange.publish(options)
  }

  /** Replaces the tracks of an own stream by others of the same kinds. */
  replaceMedia(streamId: string, options: PublishOptions = {}): Promise<PublishedStream> {
    return this.#exchange.replaceMedia(streamId, options)
  }

  unpublish(streamId: string): Promise<void> {
    return this.#exchange.unpublish(streamId)
  }

  /** Changes an own stream, for example its muting. A muted track sends no packets. */
  changeStream(streamId: string, change: ChangeStream): Promise<void> {
    return this.#exchange.changeStream(streamId, change)
  }

  /** Subscribes to a stream and resumes its paused tracks. */
  subscribe(streamId: string): Promise<Subscription> {
    return this.#exchange.subscribe(streamId)
  }

  unsubscribe(streamId: string): Promise<void> {
    return this.#exchange.unsubscribe(streamId)
  }

  /** Pauses, resumes or selects layers of a subscription. */
  changeSubscription(streamId: string, change: ChangeSubscription): Promise<void> {
    return this.#exchange.changeSubscription(streamId, change)
  }

  async signal(message: SignallingParams<'signal'>): Promise<void> {
    await this.#socket.request('signal', message)
  }

  /** Calls any method of the protocol (`forceDisconnect`, `forceUnpublish`, invalid calls). */
  call<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    return this.#socket.request(method, params)
  }

  /** Sends any text on the socket. */
  sendRaw(text: string): void {
    this.#socket.sendRaw(text)
  }

  /** Terminates the socket without a closing handshake; media continues. */
  dropSocket(): void {
    this.#socket.terminate()
  }

  /**
   * Resumes with a new socket, also while the old one is open; rejects when the server no longer knows the participant.
   * @param url the URL of another master
   */
  async resume(url = this.url): Promise<SignallingResult<'resume'>> {
    const { connectionId, resumeKey, pingInterval } = this.joined
    const socket = await openSocket(url, this.#log)
    try {
      const receivedSignals = [...this.#formerSockets, this.#socket].flatMap((each) => each.receivedSignals)
      const last = receivedSignals.slice(-SIGNALLING_LIMITS.missedSignals.count)
      const resumed = await socket.request('resume', { connectionId, resumeKey, receivedSignals: last })
      // Closed meanwhile: nothing would close the new socket, and the participant would never be evicted.
      if (this.#isClosed) throw new Error('the participant was closed')
      this.#formerSockets.push(this.#socket)
      this.#socket = socket
      socket.keepAlive(pingInterval)
      this.#applySnapshot(resumed.snapshot)
      for (const { streamId } of resumed.snapshot.streams) this.#subscribeAgain(streamId)
      return resumed
    } catch (error) {
      socket.terminate()
      throw error
    }
  }

  /**
   * Restarts ICE of a transport with new credentials.
   * @param newPort uses another UDP port, like a client that has changed its network
   */
  restartIce(direction: TransportDirection, { newPort = false } = {}): Promise<IceParameters> {
    return this.#exchange.restartIce(direction, newPort)
  }

  /** The statistics of both transports: packets, ports, answers to connectivity checks. */
  transportFigures(): Record<TransportDirection, TransportFigures> {
    return this.#exchange.figures
  }

  /** Sends `leave`, then calls {@link close}. */
  async leave(): Promise<void> {
    await this.#socket.request('leave', {})
    await this.close()
  }

  /** Closes media and socket without `leave`. Repeated calls have no effect. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopMedia()
    for (const former of this.#formerSockets.splice(0)) former.terminate()
    const timeout = setTimeout(() => this.#socket.terminate(), CLOSE_TIMEOUT_MS)
    await this.#socket.close()
    clearTimeout(timeout)
    this.#log.end('the participant was closed')
  }

  async #rejoin(): Promise<SignallingResult<'rejoin'>> {
    const rejoined = await this.#socket.request('rejoin', {})
    this.#applySnapshot(rejoined.snapshot)
    return rejoined
  }

  #applySnapshot(snapshot: SessionSnapshot): void {
    this.#streams.clear()
    for (const stream of snapshot.streams) this.#streams.set(stream.streamId, stream)
    this.#recovery.epochSeen(snapshot.mediaEpoch, 0)
  }

  #handleNotifications(): void {
    this.on('snapshot', ({ params }) => this.#applySnapshot(params))
    this.on('mediaLost', ({ params: { mediaEpoch, afterMs } }) => this.#recovery.epochSeen(mediaEpoch, afterMs))
    this.on('streamCreated', ({ params }) => {
      this.#streams.set(params.streamId, params)
      this.#subscribeAgain(params.streamId)
    })
    this.on('streamDestroyed', ({ params: { streamId, reason } }) => {
      this.#streams.delete(streamId)
      // The publisher will publish again with the same id.
      if (reason === 'mediaServerReconnect') this.#exchange.interrupted(streamId)
      else this.#exchange.ended(streamId)
    })
    this.on('subscriptionReplaced', ({ params: { streamId } }) => {
      // After a failure the server reports it again with the next resume.
      this.#exchange.replaced(streamId).catch(() => undefined)
    })
    this.on('layersChanged', ({ params: { streamId, layers } }) => {
      const subscription = this.#exchange.subscriptionTo(streamId)
      if (subscription) subscription.currentLayer = layers
    })
    this.on('sessionDisconnected', () => this.#stopMedia())
  }

  /** A failure because of a lost socket is repaired by the next resume, one because of a loss of media by its recovery. */
  #subscribeAgain(streamId: string): void {
    this.#exchange.appeared(streamId).catch(() => undefined)
  }

  #stopMedia(): void {
    this.#recovery.stop()
    this.#exchange.close()
  }
}
