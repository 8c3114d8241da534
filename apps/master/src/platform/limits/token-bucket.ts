/** The content of a full bucket, and how much is added each second. */
export interface BucketLimit {
  readonly burst: number
  readonly perSecond: number
}

/** A token bucket. Times are ms of a monotonic clock. */
export class TokenBucket {
  #left: number

  constructor(
    private readonly limit: BucketLimit,
    private at: number,
  ) {
    this.#left = limit.burst
  }

  /**
   * Takes `amount`; returns false, and takes nothing, when there is not enough. An amount above the burst needs a full
   * bucket and leaves a debt, so that a single large message is possible and delays the next one.
   */
  spend(now: number, amount = 1): boolean {
    this.#refill(now)
    if (this.#left < Math.min(amount, this.limit.burst)) return false
    this.#left -= amount
    return true
  }

  /** Time until one unit can be taken, ms. */
  msUntil(now: number): number {
    this.#refill(now)
    return (Math.max(1 - this.#left, 0) / this.limit.perSecond) * 1_000
  }

  /** A full bucket is equal to a new one. */
  isFull(now: number): boolean {
    this.#refill(now)
    return this.#left === this.limit.burst
  }

  #refill(now: number): void {
    this.#left = Math.min(this.limit.burst, this.#left + ((now - this.at) / 1000) * this.limit.perSecond)
    this.at = now
  }
}
