export interface WatchdogTiming {
  /** Time between two looks, ms. */
  tickMs: number
  /** A new question is asked every so many ticks. */
  askEvery: number
  /** So many ticks without an answer mean frozen. */
  patience: number
}

export const WATCHDOG_TIMING: WatchdogTiming = { tickMs: 1_000, askEvery: 2, patience: 5 }

/**
 * Finds out when something no longer answers. It counts its own ticks instead of reading a clock: a process that
 * was itself stopped for a while must not blame the others for the silence.
 */
export class Watchdog {
  readonly #timer: NodeJS.Timeout
  #unanswered = 0
  #sinceAsked = 0
  #waiting = false

  constructor(
    private readonly ask: () => Promise<unknown>,
    private readonly onFrozen: () => void,
    private readonly timing: WatchdogTiming = WATCHDOG_TIMING,
  ) {
    this.#timer = setInterval(() => this.#tick(), timing.tickMs)
  }

  stop(): void {
    clearInterval(this.#timer)
  }

  #tick(): void {
    if (this.#waiting) {
      if (++this.#unanswered < this.timing.patience) return
      this.stop()
      this.onFrozen()
    } else if (++this.#sinceAsked >= this.timing.askEvery) {
      this.#sinceAsked = 0
      this.#unanswered = 0
      this.#waiting = true
      const answered = (): void => void (this.#waiting = false)
      // A refusal is an answer too; death has its own event.
      this.ask().then(answered, answered)
    }
  }
}
