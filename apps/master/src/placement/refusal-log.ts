import type { Logger } from '@nestjs/common'

/** Interval of its lines at least, ms. */
const EVERY_MS = 1_000

/** Logs refused joins once a second at most: without a media node, all joins of a crowd fail, and each tries again. */
export class RefusalLog {
  #loggedAt = -Infinity
  #unlogged = 0

  constructor(
    private readonly logger: Pick<Logger, 'warn'>,
    /** Monotonic ms. */
    private readonly now = () => performance.now(),
  ) {}

  /** The next line that is logged contains the number of those before it that were not. */
  warn(message: string): void {
    const now = this.now()
    if (now - this.#loggedAt < EVERY_MS) {
      this.#unlogged++
      return
    }
    this.logger.warn({ unlogged: this.#unlogged }, message)
    this.#loggedAt = now
    this.#unlogged = 0
  }
}
