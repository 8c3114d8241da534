import { LONGEST_MS } from './respawn-delay.js'

export interface CrashLoopTiming {
  /** So many deaths … */
  deaths: number
  /** … within this many ms are no accident. */
  withinMs: number
  /** Workers that have lived this long are well again. */
  stableMs: number
}

export const CRASH_LOOP: CrashLoopTiming = {
  deaths: 5,
  withinMs: 10_000,
  // Longer than the longest wait for a new worker: one that dies as soon as it is back ends no loop by being away.
  stableMs: LONGEST_MS + 5_000,
}

/** Tells workers that keep dying from a worker that died. */
export class CrashLoop {
  readonly #timing: CrashLoopTiming
  readonly #now: () => number
  #deaths: number[] = []
  #looping = false

  /** `now` in ms, by a clock that is never set. */
  constructor(timing = CRASH_LOOP, now: () => number = () => performance.now()) {
    this.#timing = timing
    this.#now = now
  }

  /** True when this death begins a loop. */
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
