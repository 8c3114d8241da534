/** Unknown media nodes that a master may register at once, and the refill rate per second. */
const BURST = 50
const PER_SECOND = 1

/**
 * A token bucket for the registration of unknown media nodes: a holder of the credentials of one node must not be able
 * to fill the cluster with invented ones. `take(now)` is false when the node has to wait; `now` in monotonic ms.
 */
export class RegistrationBudget {
  #left = BURST

  constructor(private at: number) {}

  take(now: number): boolean {
    this.#left = Math.min(BURST, this.#left + ((now - this.at) / 1_000) * PER_SECOND)
    this.at = now
    if (this.#left < 1) return false
    this.#left -= 1
    return true
  }
}
