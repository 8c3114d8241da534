const WINDOW_MS = 5_000
const TICK_MS = 20

/**
 * The longest the event loop was held up in the last five to ten seconds. Node's own histogram of it loses what falls
 * between its reset and its next tick.
 */
export class LoopLag {
  readonly #timer: NodeJS.Timeout
  #tickedAt: number
  #windowEndsAt: number
  #currentMs = 0
  #earlierMs = 0

  /** `now` is monotonic, ms. */
  constructor(private readonly now = () => performance.now()) {
    this.#tickedAt = now()
    this.#windowEndsAt = this.#tickedAt + WINDOW_MS
    this.#timer = setInterval(() => this.tick(), TICK_MS)
    this.#timer.unref()
  }

  /** ms; a hold-up counts as soon as it is over, and before its timers have run. */
  longest(): number {
    return Math.max(this.#earlierMs, this.#currentMs, this.#lateness(this.now()))
  }

  tick(): void {
    const now = this.now()
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
