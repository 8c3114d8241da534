const SLOTS = 1_024

/** A timer wheel: runs tasks of the next second, with a slot for each millisecond. */
export class TimerWheel {
  readonly #slots: (() => void)[][] = Array.from({ length: SLOTS }, () => [])

  at(ms: number, task: () => void): void {
    this.#slots[Math.ceil(ms) % SLOTS]?.push(task)
  }

  /** Runs the tasks of a millisecond; the caller must not skip one. */
  run(ms: number): void {
    const slot = this.#slots[ms % SLOTS]
    if (!slot || slot.length === 0) return
    for (const task of slot) task()
    slot.length = 0
  }
}
