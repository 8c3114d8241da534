import { describeExit } from '@session-service/local-stack'
import { backoffMs, messageOf, sleep } from '@session-service/server-kit/async'

const BACKOFF = { firstMs: 500, longestMs: 15_000 }
/** A process that ran for this long restarts without an increased back-off. */
const HEALTHY_MS = 30_000

/** The part of a process that its supervisor uses. */
export interface Child {
  readonly exited: Promise<number | null>
  stop(): Promise<void>
  killGroup(): void
}

interface SupervisedOptions {
  name: string
  /** Starts the process; resolves when it is ready. An aborted signal stops it and rejects. */
  start: (signal: AbortSignal) => Promise<Child>
  /** Reports a restart. */
  warn: (text: string) => void
  backoff?: { firstMs: number; longestMs: number; healthyMs: number }
}

/** Supervises a process: restarts it after an exit, with exponential back-off, until it is stopped. */
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

  /** Starts the process; rejects when the first start fails, which is not retried. */
  async start(): Promise<void> {
    const started = performance.now()
    const child = await this.#launch()
    this.#loop = this.#watch(child, started)
  }

  /** Stops it gracefully; resolves when it has exited. */
  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#starting?.catch(() => {})
    await this.#child?.stop()
    await this.#loop
  }

  /** Kills its process group. */
  kill(): void {
    this.#stopping.abort()
    this.#child?.killGroup()
  }

  async #watch(child: Child, startedAt: number): Promise<void> {
    let current: Child | undefined = child
    let started = startedAt
    let reason = ''
    for (let exits = 1; ; exits++) {
      if (current) reason = `exited (${describeExit(await current.exited)})`
      if (this.#stopping.signal.aborted) return
      const { healthyMs, ...backoff } = this.#options.backoff ?? { ...BACKOFF, healthyMs: HEALTHY_MS }
      if (performance.now() - started > healthyMs) exits = 1
      const delayMs = backoffMs(exits, { ...backoff, jitter: false })
      this.#options.warn(`${reason}, restarting in ${delayMs / 1000} s`)
      await sleep(delayMs, this.#stopping.signal)
      if (this.#stopping.signal.aborted) return
      started = performance.now()
      current = await this.#launch().catch((error: unknown) => {
        reason = `did not start (${firstLine(error)})`
        return undefined
      })
    }
  }

  async #launch(): Promise<Child> {
    this.#starting = this.#options.start(this.#stopping.signal)
    this.#child = await this.#starting
    return this.#child
  }
}

const firstLine = (error: unknown): string => messageOf(error).split('\n', 1)[0] ?? ''
