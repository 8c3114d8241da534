import { HEARTBEAT_INTERVAL_MS, RESTING_INTERVAL_MS } from '@session-service/contract'
import { AlignedInterval } from '@session-service/server-kit'

interface Periodic {
  readonly run: () => void
  readonly beats: number
}

/** Ends a periodic run. */
export interface RhythmInterval {
  stop(): void
}

/**
 * How often the node exchanges signs of life with the cluster. It rests, and does so less often, when it has had no work
 * and no command for some time. The first command, and the first work, end the rest at once.
 *
 * All runs share one timer and happen in the order in which they were added: the bus joins what they send into one write.
 */
export class Rhythm {
  readonly #periodic = new Set<Periodic>()
  #timer: AlignedInterval | undefined
  #ticks = 0
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
  interval(run: () => void, beats = 1): RhythmInterval {
    const periodic = { run, beats }
    this.#periodic.add(periodic)
    this.#timer ??= new AlignedInterval(() => this.#tick(), this.#everyMs)
    return { stop: () => this.#remove(periodic) }
  }

  /** The node has work, or is about to get some. */
  busy(): void {
    this.#busyAt = this.now()
    if (this.#everyMs === HEARTBEAT_INTERVAL_MS) return
    this.#change(HEARTBEAT_INTERVAL_MS)
    // The last exchange may be older than the shorter interval allows.
    for (const { run } of this.#periodic) run()
  }

  /** The node has no work now. */
  idle(): void {
    if (this.now() - this.#busyAt >= this.restAfterMs) this.#change(RESTING_INTERVAL_MS)
  }

  #tick(): void {
    this.#ticks += 1
    for (const { run, beats } of this.#periodic) if (this.#ticks % beats === 0) run()
  }

  #remove(periodic: Periodic): void {
    this.#periodic.delete(periodic)
    if (this.#periodic.size > 0) return
    this.#timer?.stop()
    this.#timer = undefined
  }

  #change(everyMs: number): void {
    this.#everyMs = everyMs
    this.#timer?.every(everyMs)
  }
}
