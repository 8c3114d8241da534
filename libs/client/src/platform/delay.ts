import type { Clock } from './clock.js'

/** The exponential back-off delay of retry `attempt` (from 0), ms. */
export const backoffMs = (attempt: number, firstMs: number, longestMs: number): number =>
  Math.min(firstMs * 2 ** attempt, longestMs)

/** Waits that `interrupt` ends early. */
export class InterruptibleDelay {
  readonly #wakeUps = new Set<() => void>()
  readonly #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Resolves after `ms`, or at the next `interrupt`. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wakeUp = (): void => {
        cancel()
        this.#wakeUps.delete(wakeUp)
        resolve()
      }
      const cancel = this.#clock.after(Math.max(ms, 0), wakeUp)
      this.#wakeUps.add(wakeUp)
    })
  }

  interrupt(): void {
    for (const wakeUp of [...this.#wakeUps]) wakeUp()
  }
}
