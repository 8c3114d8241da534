import { backoffMs } from '@session-service/server-kit'

const BACKOFF = { firstMs: 1_000, longestMs: 8_000, jitter: false }

/** The time of the next attempt for each id that failed, with exponential back-off. */
export class RetryDelays {
  readonly #failures = new Map<string, { count: number; retryAt: number }>()

  constructor(private readonly now: () => number = () => performance.now()) {}

  isDue(id: string): boolean {
    return this.now() >= (this.#failures.get(id)?.retryAt ?? -Infinity)
  }

  note(id: string, succeeded: boolean): void {
    if (succeeded) {
      this.#failures.delete(id)
      return
    }
    const count = (this.#failures.get(id)?.count ?? 0) + 1
    this.#failures.set(id, { count, retryAt: this.now() + backoffMs(count, BACKOFF) })
  }

  /** Forgets all other ids. */
  keepOnly(ids: readonly string[]): void {
    const kept = new Set(ids)
    for (const id of this.#failures.keys()) if (!kept.has(id)) this.#failures.delete(id)
  }
}
