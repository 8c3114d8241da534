const WINDOW_MS = 5_000
const TICK_MS = 20

/**
 * Measures the longest delay of the event loop in the last five to ten seconds. Node's own histogram misses a delay
 * between its reset and its next tick.
 */
export class LoopLag {
  readonly #timer: NodeJS.Timeout
  readonly #now: () => number
  #tickedAt: number
  #windowEndsAt: number
  #currentMs = 0
  #earlierMs = 0

  /** `now` is monotonic, ms. */
  constructor(now = () => performance.now()) {
    this.#now = now
    this.#tickedAt = now()
    this.#windowEndsAt = this.#tickedAt + WINDOW_MS
    this.#timer = setInterval(() => this.tick(), TICK_MS)
    this.#timer.unref()
  }

  /** In ms. A delay counts as soon as it is over, before the delayed timers have run. */
  longest(): number {
    return Math.max(this.#earlierMs, this.#currentMs, this.#lateness(this.#now()))
  }

  tick(): void {
    const now = this.#now()
    this.#currentMs = Math.max(this.#currentMs, this.#lateness(now))
    this.#tickedAt = now
    if (now < this.#windowEndsAt) return
    this.#earlierMs = this.#currentMs
    this.#currentMs = 0
    this.#windowEndsAt = now + WINDOW_MS
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #lateness(now: number): number {
    return Math.max(0, now - this.#tickedAt - TICK_MS)
  }
}
