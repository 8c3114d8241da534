/** Something that wants to run at a time. */
export interface Paced {
  /** On the clock of `performance.now()`, ms; read anew after each run. */
  dueAt: number
  run(now: number): void
}

const TICK_MS = 5

/**
 * One timer for all that every participant of the process does by the clock: frames, reports, connectivity checks.
 * It exists only while somebody is registered.
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

  /** How late, in ms, the worst tick since the last call came: whether this process kept up with its participants. */
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

/** Epoch time with fractions of a millisecond: what all `…At` values of this folder are. */
export const epochMs = (at = performance.now()): number => performance.timeOrigin + at
