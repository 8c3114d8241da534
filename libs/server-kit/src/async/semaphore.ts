/** Runs at most `permits` tasks at the same time; the others wait in the order of their calls. */
export class Semaphore {
  private readonly waiting: (() => void)[] = []

  constructor(private permits: number) {}

  async run<T>(task: () => T | Promise<T>): Promise<T> {
    if (this.permits > 0) this.permits--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await task()
    } finally {
      this.release()
    }
  }

  private release(): void {
    const next = this.waiting.shift()
    if (next) next()
    else this.permits++
  }
}
