import { SIGNALLING_LIMITS } from '@session-service/contract'

/** The used share of the server's limits. Pings, reports and frames that a network delays and delivers together need the rest. */
const SHARE = 0.8

type Limit = (typeof SIGNALLING_LIMITS)['calls' | 'bytes']

/** A token bucket that starts full. */
class Bucket {
  #left: number
  #at: number
  readonly #burst: number
  readonly #perMs: number

  constructor({ burst, perSecond }: Limit, now: number) {
    this.#burst = this.#left = burst * SHARE
    this.#perMs = (perSecond * SHARE) / 1_000
    this.#at = now
  }

  /** The time until `amount` can be taken, ms. */
  msUntil(amount: number, now: number): number {
    this.#left = Math.min(this.#burst, this.#left + (now - this.#at) * this.#perMs)
    this.#at = now
    return Math.max(0, Math.ceil((Math.min(amount, this.#burst) - this.#left) / this.#perMs))
  }

  take(amount: number): void {
    this.#left -= amount
  }
}

/** The calls that the server accepts from this participant: it closes the socket of a client that sends more. */
export class CallBudget {
  readonly #calls: Bucket
  readonly #bytes: Bucket

  constructor(now: number) {
    this.#calls = new Bucket(SIGNALLING_LIMITS.calls, now)
    this.#bytes = new Bucket(SIGNALLING_LIMITS.bytes, now)
  }

  /** Takes a call and returns 0, or returns the time until it can be taken, ms. */
  take(bytes: number, now: number): number {
    const ms = Math.max(this.#calls.msUntil(1, now), this.#bytes.msUntil(bytes, now))
    if (ms > 0) return ms
    this.#calls.take(1)
    this.#bytes.take(bytes)
    return 0
  }
}
