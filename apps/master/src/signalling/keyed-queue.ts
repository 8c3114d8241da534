/** Runs what has the same key one after another, in the order it came, and different keys at once. */
export class KeyedQueue {
  private readonly tails = new Map<string, Promise<void>>()

  constructor(private readonly onError: (error: unknown) => void) {}

  /** A task that fails is reported; the tasks after it run all the same. */
  run(key: string, task: () => Promise<void>): void {
    const tail = (this.tails.get(key) ?? Promise.resolve()).then(task).catch(this.onError)
    this.tails.set(key, tail)
    void tail.finally(() => {
      if (this.tails.get(key) === tail) this.tails.delete(key)
    })
  }

  /** Resolves when all that is queued now has run. */
  async idle(): Promise<void> {
    await Promise.all(this.tails.values())
  }
}
