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
import { MediaReturn, type MediaReturnEvent } from './media-return.js'
import type { TransportFigures } from '../transport/media-transport.js'
import { epochMs } from '../rtp/pacer.js'
import type { ChangeStream, ChangeSubscription, JoinOptions, PublishedStream } from './participant-types.js'
import type { PublishOptions } from '../tracks/publication.js'
import type { Subscription } from '../tracks/subscription.js'

/** A server that does not answer the closing handshake is not waited for longer. */
const CLOSE_MS = 1_000

async function openSocket(url: string, log: EventLog): Promise<SignallingClient> {
  const socket = await SignallingClient.open(url)
  socket.onNotification(({ method, params, at }) => log.add({ method, params, at } as ReceivedEvent))
  return socket
}

/**
 * A participant without a browser: the real signalling protocol, real ICE, DTLS and SRTP, a real tone in Opus and a real
 * (grey) picture in VP8. Many fit into one process. All times are epoch ms with fractions; every call that the server
 * refuses rejects with a SignallingError carrying its code.
 */
export class SyntheticParticipant {
  readonly #streams = new Map<string, StreamInfo>()
  readonly #exchange: MediaExchange
  readonly #return: MediaReturn
  #socket: SignallingClient
  /** The server closes these; should it not, they go with this participant. */
  readonly #formerSockets: SignallingClient[] = []
  /** When `join` was answered. */
  readonly joinedAt = epochMs()

  private constructor(
    /** Of the socket it came in with. */
    readonly url: string,
    private readonly log: EventLog,
    socket: SignallingClient,
    /** The answer to `join`, whole. */
    readonly joined: SignallingResult<'join'>,
    certificate: Certificate,
    { capacityKbps, rejoins = true }: JoinOptions,
  ) {
    this.#socket = socket
    const exchange = (this.#exchange = new MediaExchange(
      joined,
      certificate,
      (method, params) => this.#socket.request(method, params),
      capacityKbps,
    ))
    this.#return = new MediaReturn(
      { lost: () => exchange.lost(), rejoin: () => this.#rejoin(), renew: (rejoined) => exchange.renew(rejoined) },
      joined.snapshot.mediaEpoch,
    )
    if (!rejoins) this.#return.stop()
    socket.keepAlive(joined.pingInterval)
    this.#learn(joined.snapshot)
    this.#follow()
  }

  /**
   * Joins a session.
   * @param token the connection's token as REST gives it: `ws(s)://host/service/signalling?sessionId=…&token=tok_…`
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

  /** Every notification so far, in order, with its arrival time. */
  get events(): readonly ReceivedEvent[] {
    return this.log.all
  }

  /** The streams of the session as this participant knows them. */
  get streams(): readonly StreamInfo[] {
    return [...this.#streams.values()]
  }

  get published(): readonly PublishedStream[] {
    return this.#exchange.published
  }

  get subscriptions(): readonly Subscription[] {
    return this.#exchange.subscriptions
  }

  /** Resolves when the socket of the moment closes. */
  get socketClosed(): Promise<{ code: number; reason: string }> {
    return this.#socket.closed
  }

  /** What the server sent against the contract. */
  get violations(): readonly string[] {
    return this.#socket.violations
  }

  /** Listens to a notification; the result takes the listener off. */
  on<N extends SignallingNotification>(method: N, listener: (event: EventOf<N>) => void): () => void {
    return this.log.on(method, listener)
  }

  /** The first such notification since the join; rejects after `deadlineMs` (5000) with what came instead. */
  waitFor<N extends SignallingNotification>(
    method: N,
    predicate?: (params: NotificationParams<N>) => boolean,
    deadlineMs?: number,
  ): Promise<EventOf<N>> {
    return this.log.waitFor(method, predicate, deadlineMs)
  }

  /** Of the media that it has. */
  get mediaEpoch(): number {
    return this.#return.mediaEpoch
  }

  /** Each loss of the session's media, and each return to it. */
  get mediaReturns(): readonly MediaReturnEvent[] {
    return this.#return.events
  }

  /** Publishes a stream and sends it until it is unpublished, destroyed or the participant closes. */
  publish(options: PublishOptions = {}): Promise<PublishedStream> {
    return this.#exchange.publish(options)
  }

  unpublish(streamId: string): Promise<void> {
    return this.#exchange.unpublish(streamId)
  }

  /** Mutes, unmutes, changes what is told of an own stream. A muted track sends no packets. */
  changeStream(streamId: string, change: ChangeStream): Promise<void> {
    return this.#exchange.changeStream(streamId, change)
  }

  /** Subscribes to a stream and resumes what the server holds back. */
  subscribe(streamId: string): Promise<Subscription> {
    return this.#exchange.subscribe(streamId)
  }

  unsubscribe(streamId: string): Promise<void> {
    return this.#exchange.unsubscribe(streamId)
  }

  /** Pauses, resumes or chooses layers of a subscription. */
  changeSubscription(streamId: string, change: ChangeSubscription): Promise<void> {
    return this.#exchange.changeSubscription(streamId, change)
  }

  async signal(message: SignallingParams<'signal'>): Promise<void> {
    await this.#socket.request('signal', message)
  }

  /** Any method of the protocol, for what has no method here (`forceDisconnect`, `forceUnpublish`, wrong calls). */
  call<M extends SignallingMethod>(method: M, params: SignallingParams<M>): Promise<SignallingResult<M>> {
    return this.#socket.request(method, params)
  }

  /** Sends any text down the socket. */
  sendRaw(text: string): void {
    this.#socket.sendRaw(text)
  }

  /** Cuts the socket without a word; media goes on. */
  dropSocket(): void {
    this.#socket.terminate()
  }

  /**
   * Comes back with a new socket after the old one has gone (or beside it); rejects when the server no longer knows us.
   * @param url of another master
   */
  async resume(url = this.url): Promise<SignallingResult<'resume'>> {
    const { connectionId, resumeKey, pingInterval } = this.joined
    const socket = await openSocket(url, this.log)
    try {
      const receivedSignals = [...this.#formerSockets, this.#socket].flatMap((each) => each.receivedSignals)
      const last = receivedSignals.slice(-SIGNALLING_LIMITS.missedSignals.count)
      const resumed = await socket.request('resume', { connectionId, resumeKey, receivedSignals: last })
      this.#formerSockets.push(this.#socket)
      this.#socket = socket
      socket.keepAlive(pingInterval)
      this.#learn(resumed.snapshot)
      return resumed
    } catch (error) {
      socket.terminate()
      throw error
    }
  }

  /**
   * New ICE credentials for a transport, after which the path is found anew.
   * @param newPort from another UDP port, as after a change of network
   */
  restartIce(direction: TransportDirection, { newPort = false } = {}): Promise<IceParameters> {
    return this.#exchange.restartIce(direction, newPort)
  }

  /** Of both transports: packets, ports, answers to connectivity checks. */
  transportFigures(): Record<TransportDirection, TransportFigures> {
    return this.#exchange.figures
  }

  /** Says goodbye, then {@link close}. */
  async leave(): Promise<void> {
    await this.#socket.request('leave', {})
    await this.close()
  }

  /** Ends media and socket; the server is told nothing but the closing of the socket. Twice does no harm. */
  async close(): Promise<void> {
    this.#stopMedia()
    for (const former of this.#formerSockets.splice(0)) former.terminate()
    const patience = setTimeout(() => this.#socket.terminate(), CLOSE_MS)
    await this.#socket.close()
    clearTimeout(patience)
    this.log.end('the participant was closed')
  }

  async #rejoin(): Promise<SignallingResult<'rejoin'>> {
    const rejoined = await this.#socket.request('rejoin', {})
    this.#learn(rejoined.snapshot)
    return rejoined
  }

  #learn(snapshot: SessionSnapshot): void {
    this.#streams.clear()
    for (const stream of snapshot.streams) this.#streams.set(stream.streamId, stream)
    this.#return.needed(snapshot.mediaEpoch, 0)
  }

  #follow(): void {
    this.on('snapshot', ({ params }) => this.#learn(params))
    this.on('mediaLost', ({ params: { mediaEpoch, afterMs } }) => this.#return.needed(mediaEpoch, afterMs))
    this.on('streamCreated', ({ params }) => {
      this.#streams.set(params.streamId, params)
      // What fails because the media was lost again is made up for by the next return.
      this.#exchange.appeared(params.streamId).catch(() => undefined)
    })
    this.on('streamDestroyed', ({ params: { streamId, reason } }) => {
      this.#streams.delete(streamId)
      // Its publisher begins anew, under the same id.
      if (reason === 'mediaServerReconnect') this.#exchange.interrupted(streamId)
      else this.#exchange.ended(streamId)
    })
    this.on('layersChanged', ({ params: { streamId, layers } }) => {
      const subscription = this.#exchange.watching(streamId)
      if (subscription) subscription.currentLayer = layers
    })
    this.on('sessionDisconnected', () => this.#stopMedia())
  }

  #stopMedia(): void {
    this.#return.stop()
    this.#exchange.close()
  }
}
