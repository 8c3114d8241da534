import { type ELDHistogram, monitorEventLoopDelay } from 'node:perf_hooks'
import { setImmediate as endOfIteration } from 'node:timers/promises'

const WINDOW_MS = 5_000

/** The durations of the iterations of the event loop, ns, without the time in which it waits for events. */
type Durations = Pick<ELDHistogram, 'enable' | 'disable' | 'reset' | 'max'>

/**
 * Measures the longest delay of the event loop in the last five to ten seconds: the longest iteration, which is how long
 * a timer or a request waited. Node takes the samples, so that an idle process is not woken up for them.
 */
export class LoopLag {
  readonly #durations: Durations
  readonly #timer: NodeJS.Timeout
  #earlierMs = 0

  constructor(durations: Durations = monitorEventLoopDelay({ samplePerIteration: true })) {
    this.#durations = durations
    durations.enable()
    // The first sample lasts until the first check for events, which does not wait while an immediate is pending.
    setImmediate(() => undefined)
    this.#timer = setInterval(() => this.nextWindow(), WINDOW_MS).unref()
  }

  /** In ms, with the delay that has just ended. */
  async longest(): Promise<number> {
    // The current iteration counts at its end.
    await endOfIteration()
    return Math.max(this.#earlierMs, this.#currentMs)
  }

  nextWindow(): void {
    this.#earlierMs = this.#currentMs
    this.#durations.reset()
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#durations.disable()
  }

  get #currentMs(): number {
    return this.#durations.max / 1e6
  }
}
