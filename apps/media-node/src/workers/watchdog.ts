import { AlignedInterval } from '@session-service/server-kit'

export interface WatchdogTiming {
  /** Time between two ticks, ms. */
  tickMs: number
  /** A probe is sent each time this number of ticks has passed. */
  probeEvery: number
  /** This number of ticks without an answer means frozen. */
  maxUnanswered: number
}

export const WATCHDOG_TIMING: WatchdogTiming = { tickMs: 1_000, probeEvery: 2, maxUnanswered: 5 }

/**
 * Detects a process that no longer answers. It counts its own ticks instead of reading a clock: a suspension of this
 * process must not count as silence of the other one. While no probe is unanswered it wakes up for the next one only.
 */
export class Watchdog {
  readonly #timer: AlignedInterval
  #unanswered = 0
  #waiting = false

  constructor(
    private readonly probe: () => Promise<unknown>,
    private readonly onFrozen: () => void,
    private readonly timing: WatchdogTiming = WATCHDOG_TIMING,
  ) {
    this.#timer = new AlignedInterval(() => this.#tick(), this.#probeMs)
  }

  stop(): void {
    this.#timer.stop()
  }

  get #probeMs(): number {
    return this.timing.tickMs * this.timing.probeEvery
  }

  #tick(): void {
    if (!this.#waiting) return this.#send()
    if (++this.#unanswered < this.timing.maxUnanswered) return
    this.stop()
    this.onFrozen()
  }

  #send(): void {
    this.#unanswered = 0
    this.#waiting = true
    this.#timer.every(this.timing.tickMs)
    const answered = (): void => {
      this.#waiting = false
      this.#timer.every(this.#probeMs)
    }
    // An error is an answer too; a death has its own event.
    this.probe().then(answered, answered)
  }
}
