/** `unavailable`: what all tasks need was missing, such as the storage or free disk. `other` says nothing about that. */
export type TaskResult = 'succeeded' | 'unavailable' | 'other'
type Task = (abort: AbortController) => Promise<TaskResult>

export interface TaskQueueOptions {
  /** Tasks that run at the same time. */
  limit: number
  /** Tasks in a row that end with `unavailable`, after which the queue tries one at a time. */
  tolerated: number
  /** The pause before each such try, ms. */
  restMs: number
}

/**
 * Runs at most `limit` tasks at the same time, in the order in which they were added. While what they need is
 * unavailable, it tries one task after each rest, so that a long queue costs no more than a short one.
 */
export class TaskQueue {
  readonly #waiting = new Map<string, Task>()
  readonly #running = new Map<string, { abort: AbortController; done: Promise<void> }>()
  #failures = 0
  /** The only task that was started since there are too many failures. */
  #tried: string | undefined
  #rest: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(private readonly options: TaskQueueOptions) {}

  /** Whether the task waits or runs. */
  has(id: string): boolean {
    return this.#waiting.has(id) || this.#running.has(id)
  }

  /** Does nothing while a task with this id waits or runs. `task` must not reject. */
  add(id: string, task: Task): void {
    if (this.#isClosed || this.has(id)) return
    this.#waiting.set(id, task)
    this.#startNext()
  }

  /** Aborts the task if it runs. */
  abort(id: string): void {
    this.#running.get(id)?.abort.abort()
  }

  /** Drops the tasks that wait, aborts the others, and resolves when these have ended. */
  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#rest)
    this.#waiting.clear()
    const running = [...this.#running.values()]
    for (const { abort } of running) abort.abort()
    await Promise.all(running.map(({ done }) => done))
  }

  get #isTrying(): boolean {
    return this.#failures >= this.options.tolerated
  }

  #startNext(): void {
    for (const [id, task] of this.#waiting) {
      if (this.#running.size >= this.options.limit) return
      if (this.#isTrying && (this.#rest || this.#tried !== undefined)) return
      if (this.#isTrying) this.#tried = id
      this.#waiting.delete(id)
      const abort = new AbortController()
      this.#running.set(id, { abort, done: this.#run(id, task(abort)) })
    }
  }

  async #run(id: string, task: Promise<TaskResult>): Promise<void> {
    const result = await task
    this.#running.delete(id)
    if (this.#tried === id) this.#tried = undefined
    if (this.#isClosed) return
    if (result === 'succeeded') this.#wakeUp()
    if (result === 'unavailable') this.#failures++
    if (result === 'unavailable' && this.#isTrying) this.#startRest()
    this.#startNext()
  }

  #wakeUp(): void {
    this.#failures = 0
    this.#tried = undefined
    clearTimeout(this.#rest)
    this.#rest = undefined
  }

  #startRest(): void {
    clearTimeout(this.#rest)
    this.#rest = setTimeout(() => {
      this.#rest = undefined
      this.#startNext()
    }, this.options.restMs)
  }
}
