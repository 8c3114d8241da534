import { HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS } from '@session-service/contract'
import { AlignedInterval } from '@session-service/server-kit'

interface Periodic {
  readonly run: () => void
  readonly beats: number
  readonly interval: AlignedInterval
}

/**
 * How often the node exchanges signs of life with the cluster. It rests, and does so less often, when it has had no work
 * and no command for some time. The first command, and the first work, end the rest at once.
 */
export class Rhythm {
  readonly #periodic: Periodic[] = []
  #everyMs: number = HEARTBEAT_INTERVAL_MS
  #busyAt: number

  /** `restAfterMs`: without work; `now`: monotonic, ms. */
  constructor(
    private readonly restAfterMs: number,
    private readonly now: () => number = () => performance.now(),
  ) {
    this.#busyAt = now()
  }

  /** Between two heartbeats, ms. */
  get everyMs(): number {
    return this.#everyMs
  }

  /** Runs with each heartbeat, or with one of `beats`. */
  interval(run: () => void, beats = 1): AlignedInterval {
    const interval = new AlignedInterval(run, beats * this.#everyMs)
    this.#periodic.push({ run, beats, interval })
    return interval
  }

  /** The node has work, or is about to get some. */
  busy(): void {
    this.#busyAt = this.now()
    if (this.#everyMs === HEARTBEAT_INTERVAL_MS) return
    this.#change(HEARTBEAT_INTERVAL_MS)
    // What was exchanged last may be older than it may be now.
    for (const { run, interval } of this.#periodic) if (interval.isRunning) run()
  }

  /** The node has no work now. */
  idle(): void {
    if (this.now() - this.#busyAt >= this.restAfterMs) this.#change(RESTING_INTERVAL_MS)
  }

  #change(everyMs: number): void {
    this.#everyMs = everyMs
    for (const { interval, beats } of this.#periodic) interval.every(beats * everyMs)
  }
}
