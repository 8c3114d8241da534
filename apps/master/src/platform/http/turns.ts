/** Runs at most `limit` tasks at the same time, the others in the order in which they came. */
export class Turns {
  private readonly waiting: (() => void)[] = []
  private free: number

  constructor(limit: number) {
    this.free = limit
  }

  async run<T>(task: () => Promise<T>): Promise<T> {
    if (this.free > 0) this.free--
    else await new Promise<void>((resolve) => this.waiting.push(resolve))
    try {
      return await task()
    } finally {
      const next = this.waiting.shift()
      if (next) next()
      else this.free++
    }
  }
}
