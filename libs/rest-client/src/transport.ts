import { setTimeout } from 'node:timers/promises'
import { NoAnswerError } from './errors.js'
import { FETCH_TIMEOUT_MS, patientFetch } from './patient-fetch.js'

export interface RestClientOptions {
  /** The URL of the service; its path is ignored. */
  url: string
  secret: string
  /** The time limit of one attempt, ms; default 30 000. */
  timeoutMs?: number
  /** The number of retries of an idempotent call after 503 or without an answer; default 3. */
  retries?: number
  /** The maximum delay before a retry, also if the service requests a longer one, ms; default 10 000. */
  maxRetryWaitMs?: number
}

export interface RestAnswer {
  status: number
  /** The parsed JSON, or the text; undefined without a body. */
  body: unknown
  headers: Headers
}

export interface RestRequest {
  method: string
  path: string
  body?: unknown
  /** Makes a POST idempotent, so that it is retried like other methods. 1 to 255 visible ASCII characters. */
  idempotencyKey?: string | undefined
  /** Aborts the call including its retries. */
  signal?: AbortSignal | undefined
  /** The time limit of one attempt, ms; default: that of the client. */
  timeoutMs?: number | undefined
}

/** The retries while an earlier attempt is in progress. They last until the loss of a master would have been detected. */
const IN_PROGRESS_RETRIES = 7

/** Methods that a retry may repeat without a key. */
const IDEMPOTENT: ReadonlySet<string> = new Set(['GET', 'HEAD', 'DELETE', 'PATCH'])

/** Sends requests, and retries idempotent ones after transient failures. */
export class Transport {
  readonly #options: Required<RestClientOptions>
  readonly #authorization: string

  constructor(options: RestClientOptions) {
    const { timeoutMs = 30_000, retries = 3, maxRetryWaitMs = 10_000 } = options
    this.#options = { ...options, timeoutMs, retries, maxRetryWaitMs }
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
      await wait(waitMs, request.signal)
    }
  }

  #retries({ method, idempotencyKey }: RestRequest, outcome: unknown): number {
    const { retries } = this.#options
    if (!IDEMPOTENT.has(method) && idempotencyKey === undefined) return 0
    const isInProgress = !(outcome instanceof Error) && (outcome as RestAnswer).status === 409
    return isInProgress && retries > 0 ? Math.max(retries, IN_PROGRESS_RETRIES) : retries
  }

  /** The delay before the next attempt, ms; undefined when a retry is pointless. */
  #waitAfter(outcome: unknown, attempt: number): number | undefined {
    const backOff = 200 * 2 ** attempt
    if (outcome instanceof NoAnswerError) return backOff
    if (outcome instanceof Error) return undefined
    const { status, headers } = outcome as RestAnswer
    const seconds = Number(headers.get('retry-after') ?? NaN)
    // 409 has the header only while an earlier attempt is in progress.
    if ((status !== 503 && status !== 409) || Number.isNaN(seconds)) return undefined
    return Math.min(Math.max(seconds * 1000, backOff), this.#options.maxRetryWaitMs)
  }

  async #attempt({ method, path, body, idempotencyKey, signal, ...limit }: RestRequest): Promise<RestAnswer> {
    const timeoutMs = limit.timeoutMs ?? this.#options.timeoutMs
    const timeout = AbortSignal.timeout(timeoutMs)
    const send = timeoutMs > FETCH_TIMEOUT_MS ? patientFetch : fetch
    try {
      const answer = await send(new URL(path, this.#options.url), {
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
      signal?.throwIfAborted()
      throw new NoAnswerError(`${method} ${path}`, error)
    }
  }
}

/** Rejects with the reason of the signal, as an attempt does. */
async function wait(ms: number, signal?: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, signal ? { signal } : {}).catch(() => undefined)
  signal?.throwIfAborted()
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
