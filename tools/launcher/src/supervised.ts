import { setTimeout as delay } from 'node:timers/promises'
import { describeExit } from '@session-service/local-stack'

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 15_000
/** Whoever ran this long died of something new. */
const HEALTHY_MS = 30_000

/** What of a process is needed to look after it. */
export interface Child {
  readonly exited: Promise<number | null>
  stop(): Promise<void>
  killGroup(): void
}

export interface SupervisedOptions {
  name: string
  /** Starts it and resolves once it serves; when the signal fires it ends what it has started and rejects. */
  start: (signal: AbortSignal) => Promise<Child>
  /** One line about what happened. */
  warn: (text: string) => void
  pauses?: { first: number; longest: number; healthyMs: number }
}

/** Pause before the next start, growing with every death in a row. */
export const pauseAfter = (deaths: number, first = FIRST_PAUSE_MS, longest = LONGEST_PAUSE_MS): number =>
  Math.min(longest, first * 2 ** Math.min(deaths - 1, 30))

/** Keeps one process running: starts it again when it dies, with growing pauses, until it is stopped. */
export class Supervised {
  readonly #options: SupervisedOptions
  readonly #stopping = new AbortController()
  #child: Child | undefined
  #starting: Promise<Child> | undefined
  #loop: Promise<void> | undefined

  constructor(options: SupervisedOptions) {
    this.#options = options
  }

  get name(): string {
    return this.#options.name
  }

  /** The first start; when that fails there is nothing to look after and it rejects. */
  async start(): Promise<void> {
    const started = performance.now()
    const child = await this.#begin()
    this.#loop = this.#watch(child, started)
  }

  /** Ends it in order; resolves when it is gone. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#starting?.catch(() => {})
    await this.#child?.stop()
    await this.#loop
  }

  /** Ends it now. */
  kill(): void {
    this.#stopping.abort()
    this.#child?.killGroup()
  }

  async #watch(child: Child, startedAt: number): Promise<void> {
    let current: Child | undefined = child
    let started = startedAt
    let reason = ''
    for (let deaths = 1; ; deaths++) {
      if (current) reason = `ended (${describeExit(await current.exited)})`
      if (this.#stopping.signal.aborted) return
      const { healthyMs = HEALTHY_MS, first, longest } = this.#options.pauses ?? {}
      if (performance.now() - started > healthyMs) deaths = 1
      const pause = pauseAfter(deaths, first, longest)
      this.#options.warn(`${reason}, starting it again in ${pause / 1000} s`)
      await delay(pause, undefined, { signal: this.#stopping.signal }).catch(() => {})
      if (this.#stopping.signal.aborted) return
      started = performance.now()
      current = await this.#begin().catch((error: unknown) => {
        reason = `did not start (${firstLine(error)})`
        return undefined
      })
    }
  }

  async #begin(): Promise<Child> {
    this.#starting = this.#options.start(this.#stopping.signal)
    this.#child = await this.#starting
    return this.#child
  }
}

const firstLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).split('\n', 1)[0] ?? ''
