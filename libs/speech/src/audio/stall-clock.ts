const TICK_MS = 100
/** A delay of the event loop by more makes times of arrival unreliable. */
const MAX_DELAY_MS = 250

type Listener = (isTimely: boolean) => void

/** One timer for all streams of the process, which notices when the event loop was blocked or the process suspended. */
export class StallClock {
  readonly #listeners = new Set<Listener>()
  #timer: NodeJS.Timeout | undefined
  #lastTick = 0
  #isLate = false

  /** False while packets may have waited in a socket before they are read. */
  get isTimely(): boolean {
    return !this.#isLate && performance.now() - this.#lastTick < TICK_MS + MAX_DELAY_MS
  }

  add(listener: Listener): void {
    this.#listeners.add(listener)
    if (this.#timer) return
    this.#lastTick = performance.now()
    this.#isLate = false
    this.#timer = setInterval(() => this.#tick(), TICK_MS).unref()
  }

  delete(listener: Listener): void {
    this.#listeners.delete(listener)
    if (this.#listeners.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #tick(): void {
    const now = performance.now()
    this.#isLate = now - this.#lastTick > TICK_MS + MAX_DELAY_MS
    this.#lastTick = now
    for (const listener of this.#listeners) listener(!this.#isLate)
  }
}
