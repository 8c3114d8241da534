import { Injectable } from '@nestjs/common'

/** The answer that took the shortest time says best what the time was: of so many, so that drift is followed. */
const SAMPLES = 16
/** Never backwards, unless the clock was put right by more than this, ms. */
const MOST_HELD_MS = 60_000

/** One look at the database's clock. UTC ms. */
export interface ClockSample {
  askedAt: number
  answeredAt: number
  databaseAt: number
}

/**
 * The time that all masters have in common, UTC ms: the database's, as well as it is known here, for whatever is written
 * down or told. Masters whose own clocks differ so agree to a few milliseconds. For intervals, use the machine's.
 */
@Injectable()
export class ClusterClock {
  private readonly samples: { offset: number; tookMs: number }[] = []
  private offset = 0
  private last = -Infinity

  now(): number {
    const now = Math.round(Date.now() + this.offset)
    this.last = this.last - now > MOST_HELD_MS ? now : Math.max(now, this.last)
    return this.last
  }

  note({ askedAt, answeredAt, databaseAt }: ClockSample): void {
    // What was said before the first look was this machine's opinion.
    if (this.samples.length === 0) this.last = -Infinity
    this.samples.push({ offset: databaseAt - (askedAt + answeredAt) / 2, tookMs: answeredAt - askedAt })
    if (this.samples.length > SAMPLES) this.samples.shift()
    this.offset = this.samples.reduce((best, sample) => (sample.tookMs <= best.tookMs ? sample : best)).offset
  }
}
