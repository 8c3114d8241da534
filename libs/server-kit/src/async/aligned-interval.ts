/** A timer may end so much before its time, ms. */
const EARLY_MS = 2

/**
 * Calls `run` whenever the monotonic clock of the process is at a multiple of `everyMs`: intervals that start at different
 * times share the wake-ups of an idle process.
 */
export class AlignedInterval {
  readonly #run: () => void
  #everyMs: number
  #timer: NodeJS.Timeout | undefined
  #isReferenced = true

  constructor(run: () => void, everyMs: number) {
    this.#run = run
    this.#everyMs = everyMs
    this.#schedule()
  }

  /** As that of a timer: the interval keeps no process alive. */
  unref(): this {
    this.#isReferenced = false
    this.#timer?.unref()
    return this
  }

  get isRunning(): boolean {
    return this.#timer !== undefined
  }

  /** Changes the interval, from the next multiple on. */
  every(everyMs: number): void {
    if (everyMs === this.#everyMs || this.#timer === undefined) return
    this.#everyMs = everyMs
    clearTimeout(this.#timer)
    this.#schedule()
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
  }

  #schedule(): void {
    const now = performance.now()
    const next = (Math.floor((now + EARLY_MS) / this.#everyMs) + 1) * this.#everyMs
    this.#timer = setTimeout(
      () => {
        this.#schedule()
        this.#run()
      },
      Math.ceil(next - now),
    )
    if (!this.#isReferenced) this.#timer.unref()
  }
}
