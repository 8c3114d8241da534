/** Runs at most `permits` tasks at the same time; the others wait in the order of their calls. */
export class Semaphore {
  readonly #waiting: (() => void)[] = []
  #permits: number

  constructor(permits: number) {
    this.#permits = permits
  }

  async run<T>(task: () => T | Promise<T>): Promise<T> {
    if (this.#permits > 0) this.#permits--
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    try {
      return await task()
    } finally {
      this.#release()
    }
  }

  #release(): void {
    const next = this.#waiting.shift()
    if (next) next()
    else this.#permits++
  }
}
