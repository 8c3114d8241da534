const SLOTS = 1_024

/** What is to happen within the next second, by the millisecond. */
export class Soon {
  readonly #slots: (() => void)[][] = Array.from({ length: SLOTS }, () => [])

  at(ms: number, task: () => void): void {
    this.#slots[Math.ceil(ms) % SLOTS]?.push(task)
  }

  /** To be called for each millisecond. */
  run(ms: number): void {
    const slot = this.#slots[ms % SLOTS]
    if (!slot || slot.length === 0) return
    for (const task of slot) task()
    slot.length = 0
  }
}
