import { AlignedInterval } from '@session-service/server-kit/async'

/** Unanswered pings after which the connection counts as lost. */
const MOST_UNANSWERED = 2

/**
 * Detects that the other end of a connection no longer answers: a connection can be half open. It counts its own ticks instead of
 * reading a clock: a suspension of this process must not count as silence of the other end. Unlike the pings of the NATS
 * client, these share the wake-ups of an idle process.
 */
export class ConnectionWatch {
  readonly #ping: () => Promise<void>
  readonly #onSilent: () => void
  readonly #interval: AlignedInterval
  #unanswered = 0

  /** `ping` resolves with the answer, and rejects when the connection is lost; `onSilent` ends a connection that does not answer. */
  constructor(ping: () => Promise<void>, onSilent: () => void, everyMs: number) {
    this.#ping = ping
    this.#onSilent = onSilent
    this.#interval = new AlignedInterval(() => this.#tick(), everyMs).unref()
  }

  stop(): void {
    this.#interval.stop()
  }

  #tick(): void {
    if (this.#unanswered === MOST_UNANSWERED) {
      this.#unanswered = 0
      return this.#onSilent()
    }
    this.#unanswered += 1
    const ended = (): void => void (this.#unanswered = 0)
    this.#ping().then(ended, ended)
  }
}
