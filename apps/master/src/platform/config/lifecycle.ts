import { type ServiceLogger, sleep, withTimeout } from '@session-service/server-kit'

/** A running application, built for one generation of the configuration. */
export interface Instance {
  close(): Promise<void>
}

/** Delay before a failed start is retried, ms. */
const RETRY_MS = 1_000
/** Time-out of closing an instance, ms. After it the next one starts all the same, so that the master serves again. */
const CLOSE_MS = 30_000

/**
 * The instances of a master process: one after another, never two. A restart closes the current one and builds the
 * next in the same process; only a signal ends the process.
 */
export class Lifecycle {
  #current: Instance | undefined
  #replacement: Promise<void> | undefined
  #isEnding = false

  constructor(
    private readonly build: () => Promise<Instance>,
    private readonly logger: Pick<ServiceLogger, 'log' | 'warn' | 'error'>,
    private readonly signal: AbortSignal,
  ) {}

  /** While true, requests that change state are rejected. */
  get isRestarting(): boolean {
    return this.#replacement !== undefined
  }

  /** While true, HTTP connections are closed after their current request. */
  get isLeaving(): boolean {
    return this.#isEnding || this.isRestarting
  }

  async start(): Promise<void> {
    this.#current = await this.build()
  }

  /** Closes the current instance, after `prepare`, and builds the next. Does nothing during a start or another restart. */
  restart(prepare: () => Promise<void>): void {
    if (this.isLeaving || !this.#current) return
    this.#replacement = this.#replace(prepare).finally(() => {
      this.#replacement = undefined
    })
  }

  async close(): Promise<void> {
    this.#isEnding = true
    await this.#replacement
    await this.#current?.close()
  }

  async #replace(prepare: () => Promise<void>): Promise<void> {
    this.logger.log('restarting')
    await this.#tryStep('preparing the restart failed', prepare)
    const current = this.#current
    this.#current = undefined
    if (current) {
      await this.#tryStep('closing the former instance failed', () =>
        withTimeout(() => current.close(), CLOSE_MS, 'closing'),
      )
    }
    while (!this.signal.aborted && !this.#current) {
      await this.#tryStep('the restart failed, will retry', async () => {
        this.#current = await this.build()
      })
      if (!this.#current) await sleep(RETRY_MS, this.signal)
    }
  }

  async #tryStep(message: string, step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      if (!this.signal.aborted) this.logger.error({ err: error }, message)
    }
  }
}
