/** A periodic task. */
export interface Paced {
  /** The time of the next run on the clock of `performance.now()`, ms; read again after each run. */
  dueAt: number
  run(now: number): void
}

const TICK_MS = 5

/**
 * The common timer for all timed work of the process' participants: frames, reports, connectivity checks. It runs only
 * while a task is registered.
 */
class Pacer {
  readonly #sources = new Set<Paced>()
  #timer: NodeJS.Timeout | undefined
  #lastTick = 0
  #worstLag = 0

  add(source: Paced): void {
    this.#sources.add(source)
    if (this.#timer) return
    this.#lastTick = performance.now()
    this.#timer = setInterval(() => this.#tick(), TICK_MS)
  }

  remove(source: Paced): void {
    this.#sources.delete(source)
    if (this.#sources.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** The longest delay of a tick since the last call, ms; shows whether the process can handle its participants. */
  takeWorstLag(): number {
    const lag = this.#worstLag
    this.#worstLag = 0
    return lag
  }

  get sources(): number {
    return this.#sources.size
  }

  #tick(): void {
    const now = performance.now()
    this.#worstLag = Math.max(this.#worstLag, now - this.#lastTick - TICK_MS)
    this.#lastTick = now
    for (const source of this.#sources) {
      if (source.dueAt <= now) source.run(now)
    }
  }
}

export const pacer = new Pacer()

/** Epoch time with fractions of a millisecond, the unit of all `…At` values. */
export const epochMs = (at = performance.now()): number => performance.timeOrigin + at
