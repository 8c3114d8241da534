/**
 * Whether a client may be renewing media. Its library drops pending calls when its socket closes, without an end: a stream whose
 * renewal was pending is never renewed again. The master closes no socket meanwhile.
 */
export class LegacyRenewals {
  #running = 0
  #lastAt = Number.NEGATIVE_INFINITY

  /** @param now a monotonic clock, ms */
  constructor(private readonly now: () => number = () => performance.now()) {}

  /** The client has called, or was notified of, what precedes a renewal. */
  expect(): void {
    this.#lastAt = this.now()
  }

  /** Handles a call that is part of a renewal. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    this.#running += 1
    try {
      return await call()
    } finally {
      this.#running -= 1
      this.expect()
    }
  }

  /** Since the last sign of a renewal, ms. */
  get quietMs(): number {
    return this.#running > 0 ? 0 : this.now() - this.#lastAt
  }
}
