import { type ClockSample, ReferenceClock, serviceClock } from '@session-service/server-kit'
import { Injectable, Optional } from '@nestjs/common'

/** The time never goes back, unless the clock was set back by more than this, ms. */
const MAX_HELD_MS = 60_000

/**
 * The time that all masters share, UTC ms: the clock of the database, measured every second. Used for every point in
 * time that is stored, sent or compared with that of another machine; intervals use `performance.now()`.
 */
@Injectable()
export class ClusterClock {
  #last = -Infinity

  constructor(@Optional() private readonly reference: ReferenceClock = serviceClock) {}

  now(): number {
    const now = this.reference.now()
    this.#last = this.#last - now > MAX_HELD_MS ? now : Math.max(now, this.#last)
    return this.#last
  }

  /** The time of an earlier `performance.now()`. */
  at(monotonicMs: number): number {
    return this.reference.at(monotonicMs)
  }

  /** Adds a sample. Returns the step of the database's clock since the last sample, ms; mostly 0. */
  note(sample: ClockSample): number {
    // Times before the first sample were those of this machine.
    if (!this.reference.isSynchronized) this.#last = -Infinity
    return this.reference.note(sample)
  }
}
