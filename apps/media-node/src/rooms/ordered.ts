/** Runs tasks of one key one after the other, those of different keys at the same time. */
export class Ordered {
  readonly #last = new Map<string, Promise<unknown>>()

  run<T>(key: string, task: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key)
    const result = before ? before.then(task, task) : task()
    this.#last.set(key, result)
    const forget = (): void => {
      if (this.#last.get(key) === result) this.#last.delete(key)
    }
    result.then(forget, forget)
    return result
  }

  /** Keys with a task under way. */
  get size(): number {
    return this.#last.size
  }
}
