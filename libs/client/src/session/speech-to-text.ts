import { type NotificationParams, ServiceError } from '@session-service/contract'
import { InterruptibleDelay, backoffMs } from '../platform/delay.js'
import { isPermanent } from '../signalling/retry.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import type { Emit, SessionContext } from '../streams/context.js'
import type { Connection } from '../streams/connection.js'
import type { Stream } from '../streams/stream.js'

/** Delays between automatic attempts to subscribe again, ms. The first attempt has no delay. */
const SPEECH_RETRY = { first: 1_000, longest: 10_000 } as const
/** All subscriptions are repeated at this rate, because the server closes the socket of a client that sends too much. */
export const SPEECH_REPEAT = { perRound: 50, roundMs: 1_000 } as const

interface SpeechToTextOptions {
  readonly session: Pick<SessionContext, 'call' | 'clock' | 'exception' | 'media' | 'pendingStreams' | 'stream'>
  readonly connection: (connectionId: string) => Connection | undefined
  readonly emit: Emit
}

/** The wanted subscription to the speech of a connection. */
interface Subscription {
  readonly connectionId: string
  readonly lang: string
  /** The subscription in another language that this one replaces, until the server has answered. */
  former: Subscription | undefined
  /** How often the server lost this subscription, or may have lost it. */
  losses: number
  /** `losses` when the last request was sent. */
  lossesAtRequest: number
  /** A request of this subscription is pending, or its repetition is due. */
  isBusy: boolean
  hasFailed: boolean
  /** The delay before the next attempt. */
  readonly delay: InterruptibleDelay
  /** The streams of the messages so far: the last sentence may follow the end of its stream. */
  readonly streams: Map<string, Stream>
}

const isLost = ({ losses, lossesAtRequest }: Subscription): boolean => losses !== lossesAtRequest

/** Subscriptions to recognized speech, and their restoration after a failure of the recognition or of the media node. */
export class SpeechToText {
  /** By the publisher's connection id. */
  readonly #wanted = new Map<string, Subscription>()
  /** Requests about a connection reach the server in the order of the calls. */
  readonly #queues = new Map<string, Promise<unknown>>()
  readonly #options: SpeechToTextOptions

  constructor(options: SpeechToTextOptions) {
    this.#options = options
  }

  async subscribe(stream: Stream, lang: string): Promise<void> {
    const { connectionId } = stream.connection
    const former = this.#wanted.get(connectionId)
    if (former?.lang === lang)
      throw new ServiceError('CONFLICT', `subscribeToSpeechToText: already subscribed to ${connectionId} in ${lang}`)
    if (this.#options.connection(connectionId) !== stream.connection)
      throw new ServiceError('NOT_FOUND', `subscribeToSpeechToText: connection ${connectionId} has ended`)
    const wanted = this.#newSubscription(stream, lang, former)
    this.#wanted.set(connectionId, wanted)
    try {
      await this.#request(wanted, stream.streamId)
      this.#requireWanted(wanted)
    } catch (error) {
      this.#failed(wanted)
      throw error
    }
    wanted.former = undefined
    wanted.isBusy = false
    if (isLost(wanted)) this.#restore(wanted)
  }

  async unsubscribe(stream: Stream): Promise<void> {
    const { connectionId } = stream.connection
    if (!this.#end(connectionId))
      throw new ServiceError('NOT_FOUND', `unsubscribeFromSpeechToText: not subscribed to ${connectionId}`)
    const session = this.#session
    const request = (): Promise<unknown> =>
      session.call('unsubscribeFromSpeechToText', { connectionId }).catch(ignoreNotFound)
    await this.#inOrder(connectionId, () => session.media.run(request))
  }

  messageReceived({ connectionId, streamId, ...message }: NotificationParams<'speechToTextMessage'>): void {
    const wanted = this.#inLanguage(connectionId, message.lang)
    if (!wanted) return
    const stream = this.#session.stream(streamId) ?? wanted.streams.get(streamId)
    if (!stream) return
    wanted.streams.set(streamId, stream)
    const { words = [], endTime, ...rest } = message
    const event = { ...rest, words, ...(endTime !== undefined && { endTime }) }
    this.#options.emit('speechToTextMessage', { stream, connection: stream.connection, ...event })
  }

  /** The recognition failed at the server, which has removed the subscription. */
  disconnected({ connectionId, lang, message }: NotificationParams<'speechToTextDisconnected'>): void {
    const lost = this.#inLanguage(connectionId, lang)
    if (!lost) return
    const text = `the recognition of the speech of connection ${connectionId} in ${lang} was interrupted: ${message}`
    this.#session.exception('SPEECH_TO_TEXT_DISCONNECTED', text, 'session')
    this.#lost(lost)
  }

  /**
   * The server may have lost all subscriptions: with the media node, or while no socket could receive
   * `speechToTextDisconnected`. Repeating a subscription that exists has no effect at the server.
   */
  repeatAll(): void {
    for (const [index, wanted] of [...this.#wanted.values()].entries())
      this.#lost(wanted, Math.floor(index / SPEECH_REPEAT.perRound) * SPEECH_REPEAT.roundMs)
  }

  /** A stream of the connection is available again after a loss of the media: its publisher can be subscribed to. */
  publisherReturned(connectionId: string): void {
    this.#wanted.get(connectionId)?.delay.interrupt()
  }

  connectionEnded(connectionId: string): void {
    this.#end(connectionId)
  }

  close(): void {
    for (const connectionId of [...this.#wanted.keys()]) this.#end(connectionId)
  }

  get #session(): SpeechToTextOptions['session'] {
    return this.#options.session
  }

  #newSubscription(stream: Stream, lang: string, former: Subscription | undefined): Subscription {
    return {
      connectionId: stream.connection.connectionId,
      lang,
      former,
      losses: 0,
      lossesAtRequest: 0,
      isBusy: true,
      hasFailed: false,
      delay: new InterruptibleDelay(this.#session.clock),
      streams: new Map([[stream.streamId, stream]]),
    }
  }

  /** Returns false without a subscription. */
  #end(connectionId: string): boolean {
    let subscription = this.#wanted.get(connectionId)
    const existed = this.#wanted.delete(connectionId)
    for (; subscription; subscription = subscription.former) subscription.delay.interrupt()
    return existed
  }

  #isWanted(subscription: Subscription): boolean {
    return this.#wanted.get(subscription.connectionId) === subscription
  }

  #requireWanted(subscription: Subscription): void {
    if (this.#isWanted(subscription)) return
    const { connectionId } = subscription
    if (!this.#options.connection(connectionId))
      throw new ServiceError('NOT_FOUND', `subscribeToSpeechToText: connection ${connectionId} has ended`)
    throw new ServiceError(
      'CONFLICT',
      `subscribeToSpeechToText: a later call for ${connectionId} replaced or ended this one`,
    )
  }

  /** The wanted subscription in this language; while another language replaces it, also the former one. */
  #inLanguage(connectionId: string, lang: string): Subscription | undefined {
    let subscription = this.#wanted.get(connectionId)
    while (subscription && subscription.lang !== lang) subscription = subscription.former
    return subscription
  }

  /** Returns to the last language that the server accepted. */
  #failed(subscription: Subscription): void {
    subscription.hasFailed = true
    if (!this.#isWanted(subscription)) return
    let { former } = subscription
    while (former?.hasFailed) former = former.former
    if (!former) return void this.#wanted.delete(subscription.connectionId)
    this.#wanted.set(former.connectionId, former)
    former.delay.interrupt()
    this.#lost(former)
  }

  #lost(subscription: Subscription, delayMs = 0): void {
    subscription.losses++
    if (!subscription.isBusy && this.#isWanted(subscription)) this.#restore(subscription, delayMs)
  }

  #restore(subscription: Subscription, delayMs = 0): void {
    subscription.isBusy = true
    void this.#repeat(subscription, delayMs).finally(() => (subscription.isBusy = false))
  }

  /** Subscribes again until it succeeds and no further loss was reported meanwhile. */
  async #repeat(subscription: Subscription, delayMs: number): Promise<void> {
    for (let attempt = 0; this.#isWanted(subscription); attempt++) {
      const delay = attempt === 0 ? delayMs : this.#retryDelay(attempt)
      if (delay > 0) await subscription.delay.wait(delay)
      if (!this.#isWanted(subscription)) return
      try {
        await this.#request(subscription)
        if (!isLost(subscription)) return
      } catch (error) {
        // NOT_FOUND also means that the publisher has not returned to the media node yet.
        if (error instanceof ServiceError && isPermanent(error.code)) return this.#giveUp(subscription, error)
      }
    }
  }

  #giveUp(subscription: Subscription, { message }: ServiceError): void {
    if (!this.#isWanted(subscription)) return
    const { connectionId, lang } = subscription
    this.#wanted.delete(connectionId)
    const text = `the recognition of the speech of connection ${connectionId} in ${lang} has ended: ${message}`
    this.#session.exception('SPEECH_TO_TEXT_DISCONNECTED', text, 'session')
  }

  /** Sends the request after media is available, and with `streamId` after that stream is, unless it became unwanted. */
  async #request(subscription: Subscription, streamId?: string): Promise<void> {
    const { connectionId, lang } = subscription
    const session = this.#session
    await this.#inOrder(connectionId, () =>
      session.media.run(async () => {
        if (streamId !== undefined) await session.pendingStreams.available(streamId)
        if (!this.#isWanted(subscription)) return
        subscription.lossesAtRequest = subscription.losses
        await session.call('subscribeToSpeechToText', { connectionId, lang })
      }),
    )
  }

  async #inOrder(connectionId: string, task: () => Promise<unknown>): Promise<void> {
    const done = (this.#queues.get(connectionId) ?? Promise.resolve()).then(task)
    const settled = done.catch(() => {})
    this.#queues.set(connectionId, settled)
    try {
      await done
    } finally {
      if (this.#queues.get(connectionId) === settled) this.#queues.delete(connectionId)
    }
  }

  #retryDelay(attempt: number): number {
    const spread = 0.75 + this.#session.clock.random() / 2
    return backoffMs(attempt - 1, SPEECH_RETRY.first, SPEECH_RETRY.longest) * spread
  }
}
