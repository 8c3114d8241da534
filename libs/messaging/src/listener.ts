import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import { within } from './within.js'

export interface BusSubscription {
  /** Takes no more; resolves when what was taken is done. Never rejects. */
  stop(): Promise<void>
}

/** How long the server may take to confirm that it sends no more. */
const UNSUBSCRIBE_MS = 2_000

interface ListenerOptions {
  subject: string
  queue: string | undefined
  /** Must not reject. */
  work: (msg: Msg) => Promise<void>
  onError: (error: Error) => void
  onStopped: (listener: Listener) => void
  /** What the server has already sent is still carried out: a requester waits for it. */
  finishSent: boolean
}

/** One subscription and its handlers in flight: the client's own drain does not wait for those. */
export class Listener implements BusSubscription {
  readonly #options: ListenerOptions
  readonly #inFlight = new Set<Promise<void>>()
  readonly #subscription: Subscription
  #stopped: Promise<void> | undefined

  constructor(connection: NatsConnection, options: ListenerOptions) {
    this.#options = options
    this.#subscription = connection.subscribe(options.subject, {
      ...(options.queue !== undefined && { queue: options.queue }),
      callback: (error, msg) => (error ? options.onError(error) : this.#take(msg)),
    })
  }

  get subject(): string {
    return this.#options.subject
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  #take(msg: Msg): void {
    const task: Promise<void> = this.#options.work(msg).finally(() => this.#inFlight.delete(task))
    this.#inFlight.add(task)
  }

  async #stop(): Promise<void> {
    if (this.#options.finishSent) {
      const drained = this.#subscription.isClosed() ? Promise.resolve() : this.#subscription.drain()
      await within(UNSUBSCRIBE_MS, drained).catch(() => this.#subscription.unsubscribe())
    } else this.#subscription.unsubscribe()
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
    this.#options.onStopped(this)
  }
}
