interface Work<T> {
  running: Promise<T>
  next: Promise<T> | undefined
}

/**
 * Callers with the same key share one run of their task. A run starts after all of its callers have called, so that each
 * gets a result that is not older than its call: while a run is underway, further callers share the next one.
 */
export class SharedWork<T> {
  readonly #work = new Map<string, Work<T>>()

  run(key: string, task: () => Promise<T>): Promise<T> {
    const work = this.#work.get(key)
    if (!work) return this.#start(key, task)
    work.next ??= work.running.then(
      () => this.#start(key, task),
      () => this.#start(key, task),
    )
    return work.next
  }

  #start(key: string, task: () => Promise<T>): Promise<T> {
    const work: Work<T> = { running: task(), next: undefined }
    this.#work.set(key, work)
    const end = (): void => {
      if (!work.next) this.#work.delete(key)
    }
    work.running.then(end, end)
    return work.running
  }
}
