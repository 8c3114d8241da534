/** Runs tasks of one key one after another in the order of their calls, tasks of different keys at the same time. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>()

  /** The outcome of `task`. It runs also when the task before it failed; the first of a key starts synchronously. */
  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const tail = this.#tails.get(key)
    const result = tail ? tail.then(task, task) : task()
    this.#tails.set(key, result)
    const forget = (): void => {
      if (this.#tails.get(key) === result) this.#tails.delete(key)
    }
    result.then(forget, forget)
    return result
  }

  /** Keys with a task that runs or waits. */
  get size(): number {
    return this.#tails.size
  }

  /** Resolves when all tasks of the moment of the call have settled. */
  async idle(): Promise<void> {
    await Promise.allSettled(this.#tails.values())
  }
}
