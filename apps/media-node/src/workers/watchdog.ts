import { AlignedInterval } from '@session-service/server-kit'

export interface WatchdogTiming {
  /** Time between two ticks, ms. */
  tickMs: number
  /** This number of ticks without an answer means frozen. */
  maxUnanswered: number
}

const WATCHDOG_TIMING: WatchdogTiming = { tickMs: 1_000, maxUnanswered: 5 }

/**
 * Detects a process that no longer answers. It counts its own ticks instead of reading a clock: a suspension of this
 * process must not count as silence of the other one. It wakes up only while a probe is unanswered.
 */
export class Watchdog {
  #timer: AlignedInterval | undefined
  #isStopped = false

  constructor(
    private readonly ask: () => Promise<unknown>,
    private readonly onFrozen: () => void,
    private readonly timing: WatchdogTiming = WATCHDOG_TIMING,
  ) {}

  /** Does nothing while an earlier probe waits for its answer. */
  probe(): void {
    if (this.#isStopped || this.#timer) return
    let unanswered = 0
    this.#timer = new AlignedInterval(() => {
      if (++unanswered < this.timing.maxUnanswered) return
      this.stop()
      this.onFrozen()
    }, this.timing.tickMs)
    const answered = (): void => this.#endWait()
    // An error is an answer too; a death has its own event.
    this.ask().then(answered, answered)
  }

  stop(): void {
    this.#isStopped = true
    this.#endWait()
  }

  #endWait(): void {
    this.#timer?.stop()
    this.#timer = undefined
  }
}
