/** A larger difference is a step of the clock, which is followed, ms. */
const MOST_CORRECTED_MS = 1_000

/** The times of decisions are as far apart as the decisions, also when the clock is corrected between them. */
export class DecisionTimes {
  #last: { at: number; time: number } | undefined

  /**
   * @param at monotonic, ms
   * @param time the same by the cluster's clock, UTC ms
   * @returns the time of the decision, UTC ms
   */
  next(at: number, time: number): number {
    const behindMs = this.#last ? this.#last.time + (at - this.#last.at) - time : 0
    const isCorrected = behindMs > 0 && behindMs < MOST_CORRECTED_MS
    this.#last = { at, time: isCorrected ? time + Math.ceil(behindMs) : time }
    return this.#last.time
  }
}
