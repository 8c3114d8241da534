import { metrics } from '@session-service/server-kit'
import { Logger } from '@nestjs/common'
import type { BasicCredentials, Credential } from './basic-credentials.js'
import { RateLimiter, sourceOf } from './rate-limiter.js'
import type { SignInCookies } from './sign-in-cookies.js'

/** The answer to a request without valid credentials. */
export type Refusal = { status: 401; message: string } | { status: 429; message: string; retryAfterSeconds: number }

interface GuardOptions {
  signIns?: SignInCookies | undefined
  attempts?: RateLimiter
  /** Ms of a monotonic clock. */
  now?: () => number
}

const failures = metrics.counter('authentication_failures_total', {
  help: 'Requests with wrong credentials',
  labels: {},
})

/**
 * Checks the credentials of requests. Valid ones always pass: behind a proxy or NAT many callers share one address, and
 * one of them must not lock out the others. Failed attempts are throttled per source.
 */
export class BasicAuthGuard {
  readonly #logger = new Logger('BasicAuthGuard')

  /** Cookies that are accepted like credentials; without them there is no sign-in. */
  readonly signIns: SignInCookies | undefined
  readonly #attempts: RateLimiter
  readonly #now: () => number

  constructor(
    private readonly credentials: BasicCredentials,
    { signIns, attempts = new RateLimiter(), now = () => performance.now() }: GuardOptions = {},
  ) {
    this.signIns = signIns
    this.#attempts = attempts
    this.#now = now
  }

  authenticate(authorization: string | undefined, address: string): Credential | Refusal {
    const credential = this.credentials.find(authorization)
    if (credential) return credential
    // A request without credentials is not an attempt: browsers send one first.
    if (authorization === undefined) return { status: 401, message: 'the Authorization header is missing' }
    return this.#failed(address, 'the Authorization header is wrong')
  }

  /** Checks the secret of a sign-in; wrong ones count with other failed attempts. */
  signIn(secret: string, address: string): Credential | Refusal {
    return this.credentials.ofSecret(secret) ?? this.#failed(address, 'the secret is wrong')
  }

  #failed(address: string, message: string): Refusal {
    failures.inc({})
    return this.#throttle(sourceOf(address)) ?? { status: 401, message }
  }

  #throttle(source: string): Refusal | undefined {
    const retryAfterSeconds = this.#attempts.wait(source, this.#now())
    if (retryAfterSeconds > 0)
      return { status: 429, message: 'too many failed attempts from this address', retryAfterSeconds }
    if (this.#attempts.failed(source, this.#now()))
      this.#logger.warn({ source }, 'too many requests with wrong credentials, throttling the source')
    return undefined
  }
}
