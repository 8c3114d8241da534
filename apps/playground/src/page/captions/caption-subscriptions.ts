import { type Connection, ServiceError, type Session, type Stream } from '@session-service/client'

/** A request that was refused after this time has waited for a model, which is still being loaded. */
const LOADING_MS = 5_000
const MOST_ATTEMPTS = 6

export interface CaptionChoice {
  readonly lang: string
  /** Whether the own speech has captions, too. */
  readonly own: boolean
}

/** Subscribes to the speech of all participants, present and later ones, while captions are on. */
export class CaptionSubscriptions {
  #choice: CaptionChoice | undefined
  /** By connection id: the stream that was subscribed to, and its language. */
  readonly #subscribed = new Map<string, { stream: Stream; lang: string }>()
  readonly #session: Session
  /** There are no captions for this participant, but for others. */
  readonly #failed: (connection: Connection, error: unknown) => void

  constructor(session: Session, failed: (connection: Connection, error: unknown) => void) {
    this.#session = session
    this.#failed = failed
    session.on('streamCreated', ({ stream }) => void this.streamCreated(stream))
    session.on('connectionDestroyed', ({ connection }) => this.#subscribed.delete(connection.connectionId))
  }

  /** Undefined while captions are off. */
  get choice(): CaptionChoice | undefined {
    return this.#choice
  }

  /** Starts captions, or changes them. Rejects with the first error if no participant can have them, and changes nothing. */
  async start(choice: CaptionChoice): Promise<void> {
    const former = this.#choice
    this.#choice = choice
    if (!choice.own) await this.#unsubscribe([...this.#subscribed.values()].filter(({ stream }) => isOwn(stream)))
    const streams = this.#streams(choice)
    const outcomes = await Promise.allSettled(streams.map((stream) => this.#subscribe(stream, choice.lang)))
    const failures = outcomes.flatMap((outcome, index) => {
      const connection = streams[index]?.connection
      return outcome.status === 'rejected' && connection ? [{ connection, error: outcome.reason as unknown }] : []
    })
    const [first] = failures
    if (first && failures.length === streams.length) {
      if (this.#choice === choice) this.#choice = former
      throw first.error
    }
    for (const { connection, error } of failures) this.#failed(connection, error)
  }

  async stop(): Promise<void> {
    this.#choice = undefined
    await this.#unsubscribe([...this.#subscribed.values()])
  }

  /** A participant, or the user, publishes a further stream. */
  async streamCreated(stream: Stream): Promise<void> {
    const choice = this.#choice
    if (!choice || !this.#streams(choice).includes(stream)) return
    try {
      await this.#subscribe(stream, choice.lang)
    } catch (error) {
      // The error of a participant who has left meanwhile is expected.
      if (this.#session.connections.has(stream.connection.connectionId)) this.#failed(stream.connection, error)
    }
  }

  /** One stream with sound of each participant: a subscription covers all streams of a participant. */
  #streams({ own }: CaptionChoice): Stream[] {
    const streams = [...this.#session.streams.values()].filter((stream) => stream.hasAudio && (own || !isOwn(stream)))
    return [...new Map(streams.map((stream) => [stream.connection, stream])).values()]
  }

  async #subscribe(stream: Stream, lang: string): Promise<void> {
    const { connectionId } = stream.connection
    const former = this.#subscribed.get(connectionId)
    if (former?.lang === lang) return
    const subscription = { stream, lang }
    this.#subscribed.set(connectionId, subscription)
    try {
      await this.#subscribeOnceLoaded(subscription)
    } catch (error) {
      if (this.#subscribed.get(connectionId) === subscription) {
        // The library keeps the former language.
        if (former) this.#subscribed.set(connectionId, former)
        else this.#subscribed.delete(connectionId)
      }
      throw error
    }
  }

  /** The service answers within ten seconds; a large model takes longer the first time. */
  async #subscribeOnceLoaded(subscription: { stream: Stream; lang: string }): Promise<void> {
    const { stream, lang } = subscription
    for (let attempt = 1; ; attempt++) {
      const begin = performance.now()
      try {
        return await this.#session.subscribeToSpeechToText(stream, lang)
      } catch (error) {
        const isLoading = isNotReady(error) && performance.now() - begin > LOADING_MS
        const isWanted = this.#subscribed.get(stream.connection.connectionId) === subscription
        if (!isLoading || !isWanted || attempt === MOST_ATTEMPTS) throw error
      }
    }
  }

  async #unsubscribe(subscriptions: readonly { stream: Stream }[]): Promise<void> {
    for (const { stream } of subscriptions) this.#subscribed.delete(stream.connection.connectionId)
    // A subscription that does not exist any more, or a lost connection, does not matter.
    await Promise.allSettled(subscriptions.map(({ stream }) => this.#session.unsubscribeFromSpeechToText(stream)))
  }
}

const isNotReady = (error: unknown): boolean => error instanceof ServiceError && error.code === 'NOT_READY'

const isOwn = (stream: Stream): boolean => stream.connection.local
