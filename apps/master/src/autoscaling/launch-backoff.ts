/** This many consecutive failures are retried at the next interval; then each failure doubles the delay. */
const IMMEDIATE_RETRIES = 3
const MAX_DOUBLINGS = 6

/** Back-off for failing launches: one attempt per interval at first, then exponential delays until one succeeds. */
export class LaunchBackoff {
  #failures = 0
  #failedAt = -Infinity

  constructor(private readonly intervalMs: number) {}

  failed(now: number): void {
    this.#failures++
    this.#failedAt = now
  }

  succeeded(): void {
    this.#failures = 0
  }

  /** Called once per interval; `now` in monotonic ms. */
  mayLaunch(now: number): boolean {
    if (this.#failures < IMMEDIATE_RETRIES) return true
    const doublings = Math.min(this.#failures - IMMEDIATE_RETRIES + 1, MAX_DOUBLINGS)
    return now - this.#failedAt >= this.intervalMs * 2 ** doublings
  }
}
