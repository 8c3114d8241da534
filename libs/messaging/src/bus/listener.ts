import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'
import { withTimeout } from '@session-service/server-kit/async'

export interface BusSubscription {
  /** Unsubscribes; resolves when the handlers in flight have finished. Never rejects. */
  stop(): Promise<void>
}

/** Time limit of the server's confirmation of an unsubscribe. */
const UNSUBSCRIBE_MS = 2_000

interface ListenerOptions {
  subject: string
  queue: string | undefined
  /** Must not reject. */
  handle: (msg: Msg) => Promise<void>
  onError: (error: Error) => void
  onStopped: (listener: Listener) => void
  /** Handles messages that the server has already sent: their requesters wait. */
  drain: boolean
}

/** A subscription and its handlers in flight; `drain` of the NATS client does not wait for asynchronous handlers. */
export class Listener implements BusSubscription {
  readonly #options: ListenerOptions
  readonly #inFlight = new Set<Promise<void>>()
  readonly #subscription: Subscription
  #stopped: Promise<void> | undefined

  constructor(connection: NatsConnection, options: ListenerOptions) {
    this.#options = options
    this.#subscription = connection.subscribe(options.subject, {
      ...(options.queue !== undefined && { queue: options.queue }),
      callback: (error, msg) => (error ? options.onError(error) : this.#handle(msg)),
    })
  }

  get subject(): string {
    return this.#options.subject
  }

  stop(): Promise<void> {
    return (this.#stopped ??= this.#stop())
  }

  #handle(msg: Msg): void {
    const task: Promise<void> = this.#options.handle(msg).finally(() => this.#inFlight.delete(task))
    this.#inFlight.add(task)
  }

  async #stop(): Promise<void> {
    if (this.#options.drain) {
      const drained = this.#subscription.isClosed() ? Promise.resolve() : this.#subscription.drain()
      await withTimeout(drained, UNSUBSCRIBE_MS, 'unsubscribing').catch(() => this.#subscription.unsubscribe())
    } else this.#subscription.unsubscribe()
    while (this.#inFlight.size > 0) await Promise.all(this.#inFlight)
    this.#options.onStopped(this)
  }
}
