import { metrics } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import type { BasicCredentials } from './basic-credentials.js'
import { FailedAttempts, sourceOf } from './failed-attempts.js'

/** What a request without right credentials is answered. */
export type Refusal = { status: 401; message: string } | { status: 429; message: string; retryAfterSeconds: number }

const failures = metrics.counter('authentication_failures_total', {
  help: 'Requests with wrong credentials',
  labels: {},
})

/** Lets in who knows the secret. A source that guesses too often is not heard for a while, right or wrong. */
export class Gate {
  readonly #logger = new Logger('Gate')

  constructor(
    private readonly credentials: BasicCredentials,
    private readonly attempts = new FailedAttempts(),
    private readonly now: () => number = () => performance.now(),
  ) {}

  refuse(authorization: string | undefined, address: string): Refusal | undefined {
    const source = sourceOf(address)
    const retryAfterSeconds = this.attempts.wait(source, this.now())
    if (retryAfterSeconds > 0)
      return { status: 429, message: 'too many failed attempts from this address', retryAfterSeconds }
    if (this.credentials.areIn(authorization)) return undefined
    // Who sends no credentials guesses nothing.
    if (authorization !== undefined) this.#note(source)
    return { status: 401, message: 'the Authorization header is missing or wrong' }
  }

  #note(source: string): void {
    failures.inc({})
    if (this.attempts.failed(source, this.now()))
      this.#logger.warn({ source }, 'too many requests with wrong credentials: not heard for a while')
  }
}
