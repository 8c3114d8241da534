import { setTimeout } from 'node:timers/promises'
import type { ServiceLogger } from '@session-service/server-kit'
import { withDeadline } from './deadline.js'

/** What was built for one generation of the configuration. */
export interface Generation {
  close(): Promise<void>
}

/** A start that failed is tried again after this long, ms. */
const RETRY_MS = 1_000
/** What has not ended by then is left behind: a master that serves again is worth more, ms. */
const CLOSE_MS = 30_000

/**
 * The life of a master process: one generation after the other, never two. A restart ends the present one and builds
 * the next in the same process; only a signal ends the process.
 */
export class Lifecycle {
  private current: Generation | undefined
  private replacement: Promise<void> | undefined
  private isEnding = false

  constructor(
    private readonly build: () => Promise<Generation>,
    private readonly logger: Pick<ServiceLogger, 'log' | 'warn' | 'error'>,
    private readonly signal: AbortSignal,
  ) {}

  /** Nothing that changes state is begun meanwhile. */
  get isRestarting(): boolean {
    return this.replacement !== undefined
  }

  /** Connections are not kept for another request. */
  get isLeaving(): boolean {
    return this.isEnding || this.isRestarting
  }

  async start(): Promise<void> {
    this.current = await this.build()
  }

  /** Ends the present generation, after `closeAfterLeave`, and builds the next. During a start or another restart it does nothing. */
  restart(closeAfterLeave: () => Promise<void>): void {
    if (this.isLeaving || !this.current) return
    this.replacement = this.replace(closeAfterLeave).finally(() => {
      this.replacement = undefined
    })
  }

  async close(): Promise<void> {
    this.isEnding = true
    await this.replacement
    await this.current?.close()
  }

  private async replace(closeAfterLeave: () => Promise<void>): Promise<void> {
    this.logger.log('restarting')
    await this.survive('what a restart says before it could not be said', closeAfterLeave)
    const { current } = this
    this.current = undefined
    if (current) {
      await this.survive('closing the former configuration failed', () =>
        withDeadline('closing', CLOSE_MS, () => current.close()),
      )
    }
    while (!this.signal.aborted && !this.current) {
      await this.survive('the restart failed, it is tried again', async () => {
        this.current = await this.build()
      })
      if (!this.current) await setTimeout(RETRY_MS, undefined, { signal: this.signal }).catch(() => undefined)
    }
  }

  private async survive(message: string, step: () => Promise<void>): Promise<void> {
    try {
      await step()
    } catch (error) {
      if (!this.signal.aborted) this.logger.error({ err: error }, message)
    }
  }
}
