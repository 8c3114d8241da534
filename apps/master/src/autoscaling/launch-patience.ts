/** So many failures in a row are tried again at the next interval each; then the pauses double. */
const QUICK = 3
/** How often they double. */
const DOUBLINGS = 6

/** Launches that fail are tried again once per interval at first, then more and more seldom until one succeeds. */
export class LaunchPatience {
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

  /** To be asked once per interval. */
  mayLaunch(now: number): boolean {
    if (this.#failures < QUICK) return true
    return now - this.#failedAt >= this.intervalMs * 2 ** Math.min(this.#failures - QUICK + 1, DOUBLINGS)
  }
}
