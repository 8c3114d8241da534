import type { MediaNodeStatus } from '@session-service/contract'

/** This many consecutive failures are retried at the next interval; then each failure doubles the delay. */
const IMMEDIATE_RETRIES = 3
const MAX_DOUBLINGS = 6

/** Back-off for failing launches: one attempt per interval at first, then exponential delays until one succeeds. */
export class LaunchBackoff {
  #failures = 0
  #failedAt = -Infinity

  constructor(private readonly intervalMs: number) {}

  /** The launches of one attempt that have ended: several failures count once, and not beside a success. */
  ended(statuses: readonly (MediaNodeStatus | undefined)[], now: number): void {
    if (statuses.includes('running')) this.#failures = 0
    else if (statuses.includes('failed')) {
      this.#failures++
      this.#failedAt = now
    }
  }

  /** Called once per interval; `now` in monotonic ms. */
  mayLaunch(now: number): boolean {
    if (this.#failures < IMMEDIATE_RETRIES) return true
    const doublings = Math.min(this.#failures - IMMEDIATE_RETRIES + 1, MAX_DOUBLINGS)
    return now - this.#failedAt >= this.intervalMs * 2 ** doublings
  }
}
