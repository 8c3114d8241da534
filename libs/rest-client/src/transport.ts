import { setTimeout } from 'node:timers/promises'
import { NoAnswerError } from './errors.js'

export interface RestClientOptions {
  /** Of the service; what follows the host is not used. */
  url: string
  secret: string
  /** For one attempt, ms; 30 000. */
  timeoutMs?: number
  /** How often a call that may be repeated is tried again after 503 or no answer; 3. */
  retries?: number
  /** The longest wait before such a try, whatever the service asks for, ms; 10 000. */
  maxRetryWaitMs?: number
}

export interface RestAnswer {
  status: number
  /** The parsed JSON, or the text; undefined when the answer had no body. */
  body: unknown
  headers: Headers
}

export interface RestRequest {
  method: string
  path: string
  body?: unknown
  /** With one a POST is done once however often it is sent, and so is tried again as others are. 1 to 255 visible ASCII characters. */
  idempotencyKey?: string | undefined
  /** Ends the call, retries included. */
  signal?: AbortSignal | undefined
}

/** How often one is sent again that an earlier try has under way: had a master died with that, it is known by then. */
const UNDER_WAY_RETRIES = 7

/** To repeat these changes nothing that the first did not. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'PATCH'])

/** Sends one request, again and again where that is harmless and promises success. */
export class Transport {
  readonly #options: Required<RestClientOptions>
  readonly #authorization: string

  constructor(options: RestClientOptions) {
    this.#options = { timeoutMs: 30_000, retries: 3, maxRetryWaitMs: 10_000, ...options }
    this.#authorization = `Basic ${Buffer.from(`SERVICEAPP:${options.secret}`).toString('base64')}`
  }

  async send(request: RestRequest): Promise<RestAnswer> {
    for (let attempt = 0; ; attempt++) {
      const outcome = await this.#attempt(request).catch((error: unknown) => error)
      const mayRepeat = attempt < this.#retries(request, outcome) && !request.signal?.aborted
      const waitMs = mayRepeat ? this.#waitAfter(outcome, attempt) : undefined
      if (waitMs === undefined) {
        if (outcome instanceof Error) throw outcome
        return outcome as RestAnswer
      }
      await setTimeout(waitMs, undefined, request.signal ? { signal: request.signal } : {})
    }
  }

  #retries({ method, idempotencyKey }: RestRequest, outcome: unknown): number {
    const { retries } = this.#options
    if (!IDEMPOTENT.has(method) && idempotencyKey === undefined) return 0
    const isUnderWay = !(outcome instanceof Error) && (outcome as RestAnswer).status === 409
    return isUnderWay && retries > 0 ? Math.max(retries, UNDER_WAY_RETRIES) : retries
  }

  /** How long to wait before the next try, ms; undefined when there is no point in one. */
  #waitAfter(outcome: unknown, attempt: number): number | undefined {
    const backOff = 200 * 2 ** attempt
    if (outcome instanceof NoAnswerError) return backOff
    const { status, headers } = outcome as RestAnswer
    const seconds = Number(headers.get('retry-after') ?? NaN)
    // 409 says when to come again only while an earlier try is still under way.
    if ((status !== 503 && status !== 409) || Number.isNaN(seconds)) return undefined
    return Math.min(Math.max(seconds * 1000, backOff), this.#options.maxRetryWaitMs)
  }

  async #attempt({ method, path, body, idempotencyKey, signal }: RestRequest): Promise<RestAnswer> {
    const timeout = AbortSignal.timeout(this.#options.timeoutMs)
    try {
      const answer = await fetch(new URL(path, this.#options.url), {
        method,
        headers: {
          authorization: this.#authorization,
          ...(body !== undefined && { 'content-type': 'application/json' }),
          ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
        },
        ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
        redirect: 'error',
        signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
      })
      return {
        status: answer.status,
        body: read(await answer.text(), answer.headers.get('content-type') ?? ''),
        headers: answer.headers,
      }
    } catch (error) {
      if (signal?.aborted) throw error
      throw new NoAnswerError(`${method} ${path}`, error)
    }
  }
}

function read(text: string, type: string): unknown {
  if (text === '') return undefined
  if (!/\bjson\b/.test(type)) return text
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}
