/** Calls a client may make at once, and how many a second are added again up to that. */
const BURST = 400
const PER_SECOND = 100

/** A token bucket: `spend(now)` is false when a client calls more often than any honest one. `now` in ms. */
export class CallBudget {
  private left = BURST

  constructor(private at: number) {}

  spend(now: number): boolean {
    this.left = Math.min(BURST, this.left + ((now - this.at) / 1000) * PER_SECOND)
    this.at = now
    if (this.left < 1) return false
    this.left--
    return true
  }
}
