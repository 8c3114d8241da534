import { MAX_RESPAWN_DELAY_MS } from './respawn-delay.js'

export interface CrashLoopTiming {
  /** This number of deaths … */
  deaths: number
  /** … within this time is a crash loop, ms. */
  withinMs: number
  /** The crash loop ends after this time without a death, ms. */
  stableMs: number
}

export const CRASH_LOOP: CrashLoopTiming = {
  deaths: 5,
  withinMs: 10_000,
  // Longer than the longest respawn delay: waiting for a worker that dies at once must not end the crash loop.
  stableMs: MAX_RESPAWN_DELAY_MS + 5_000,
}

/** Distinguishes a crash loop from single worker deaths. */
export class CrashLoop {
  readonly #timing: CrashLoopTiming
  readonly #now: () => number
  #deaths: number[] = []
  #looping = false

  /** `now`: monotonic, ms. */
  constructor(timing = CRASH_LOOP, now: () => number = () => performance.now()) {
    this.#timing = timing
    this.#now = now
  }

  /** True when this death starts a crash loop. */
  died(): boolean {
    const { deaths, withinMs } = this.#timing
    const wasLooping = this.isLooping
    const now = this.#now()
    this.#deaths = [...this.#deaths.filter((at) => now - at < withinMs), now]
    this.#looping = wasLooping || this.#deaths.length >= deaths
    return this.#looping && !wasLooping
  }

  get isLooping(): boolean {
    const last = this.#deaths.at(-1) ?? Number.NEGATIVE_INFINITY
    this.#looping &&= this.#now() - last < this.#timing.stableMs
    return this.#looping
  }
}
