/** Ids that are remembered for one time. */
const MOST_IDS = 1_000
/** The clock was set back by so much that the times follow it, ms; `ClusterClock` then does so as well. */
const SET_BACK_MS = 60_000

/**
 * Times of creation, of which no id gets the same one twice: the unique id of a session consists of both. The clock gives
 * one time for up to a minute after it was set back by less.
 */
export class CreationTimes {
  #latest = -Infinity
  /** The ids that got the latest time. */
  readonly #ids = new Set<string>()

  /** @param now UTC ms */
  next(id: string, now: number): number {
    if (now > this.#latest || this.#latest - now > SET_BACK_MS) this.#advanceTo(now)
    else if (this.#ids.has(id) || this.#ids.size === MOST_IDS) this.#advanceTo(this.#latest + 1)
    this.#ids.add(id)
    return this.#latest
  }

  #advanceTo(time: number): void {
    this.#latest = time
    this.#ids.clear()
  }
}
