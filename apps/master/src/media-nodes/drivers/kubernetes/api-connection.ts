import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { createInterface } from 'node:readline'
import { backoffMs, sleep } from '@session-service/server-kit'
import { parseJson } from '@session-service/config'
import type { KubernetesAccess } from './kubernetes-access.js'
import { Status } from './kubernetes-objects.js'

/** Time limit of one attempt, ms. */
const ATTEMPT_MS = 10_000
const ATTEMPTS = 4
const RETRY = { firstMs: 250, longestMs: 4_000 }
/** A longer `Retry-After` ends the call: its caller tries again later, ms. */
const LONGEST_RETRY_AFTER_MS = 15_000
const MAX_ANSWER_BYTES = 64 * 1_024 * 1_024

interface ApiRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  path: string
  query?: Readonly<Record<string, string>>
  body?: unknown
  contentType?: string
  signal?: AbortSignal | undefined
}

/** An answer that is no success. */
export class KubernetesError extends Error {
  override readonly name = 'KubernetesError'
  constructor(
    readonly status: number,
    /** The reason that Kubernetes gives, for example `AlreadyExists`. */
    readonly reason: string,
    message: string,
    readonly retryAfterMs = 0,
  ) {
    super(message)
  }
}

/** HTTP with the API server: credentials, time limits and retries. All requests of this driver may be repeated. */
export class ApiConnection {
  readonly #agent: http.Agent | https.Agent
  readonly #client: typeof http | typeof https

  constructor(
    private readonly access: KubernetesAccess,
    private readonly timing = { attemptMs: ATTEMPT_MS, retry: RETRY },
  ) {
    const isSecure = access.url.protocol === 'https:'
    this.#client = isSecure ? https : http
    this.#agent = isSecure ? new https.Agent({ keepAlive: true }) : new http.Agent({ keepAlive: true })
  }

  close(): void {
    this.#agent.destroy()
  }

  /** The parsed JSON of a successful answer. @throws KubernetesError, or the error of the last attempt's connection */
  async request(request: ApiRequest): Promise<unknown> {
    for (let failures = 0; ;) {
      try {
        return await this.#attempt(request)
      } catch (error) {
        request.signal?.throwIfAborted()
        const pauseMs = this.#pauseAfter(error, ++failures)
        if (failures >= ATTEMPTS || pauseMs === undefined) throw error
        await sleep(pauseMs, request.signal)
        request.signal?.throwIfAborted()
      }
    }
  }

  /** The lines of a successful answer, while they arrive. The iteration ends with the answer, also with half of one. */
  async *lines(request: ApiRequest & { signal: AbortSignal }): AsyncGenerator<string> {
    const answer = await this.#send(request, request.signal)
    if (!isSuccess(answer)) throw errorOf(request, answer, await textOf(answer))
    const lines = createInterface({ input: answer, crlfDelay: Infinity })
    // Without a listener the error of a lost connection could end the process; the iteration ends with it as well.
    answer.on('error', () => lines.close())
    try {
      for await (const line of lines) if (line !== '') yield line
      request.signal.throwIfAborted()
    } finally {
      answer.destroy()
    }
  }

  /** Undefined: another attempt would fail as well. */
  #pauseAfter(error: unknown, failures: number): number | undefined {
    const pauseMs = backoffMs(failures, this.timing.retry)
    // A connection that failed, or an answer that ended early.
    if (!(error instanceof KubernetesError)) return pauseMs
    // The token was replaced between reading and using it; a second refusal is final.
    if (error.status === 401) return failures === 1 ? pauseMs : undefined
    if (error.status !== 429 && error.status < 500) return undefined
    return error.retryAfterMs > LONGEST_RETRY_AFTER_MS ? undefined : Math.max(pauseMs, error.retryAfterMs)
  }

  async #attempt(request: ApiRequest): Promise<unknown> {
    const timeout = AbortSignal.timeout(this.timing.attemptMs)
    const signal = request.signal ? AbortSignal.any([timeout, request.signal]) : timeout
    try {
      const answer = await this.#send(request, signal)
      const text = await textOf(answer)
      if (!isSuccess(answer)) throw errorOf(request, answer, text)
      return JSON.parse(text)
    } catch (error) {
      if (!timeout.aborted) throw error
      throw new Error(`${nameOf(request)}: no answer within ${this.timing.attemptMs} ms`, { cause: error })
    }
  }

  async #send(request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> {
    const { token, ca } = await this.access.credentials()
    signal.throwIfAborted()
    const url = new URL(request.path, this.access.url)
    for (const [name, value] of Object.entries(request.query ?? {})) url.searchParams.set(name, value)
    const body = request.body === undefined ? undefined : JSON.stringify(request.body)
    return new Promise((resolve, reject) => {
      const sent = this.#client.request(url, {
        method: request.method,
        agent: this.#agent,
        signal,
        ...(ca !== undefined && { ca }),
        headers: {
          accept: 'application/json',
          'user-agent': 'session-service-master',
          ...(token !== '' && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && {
            'content-type': request.contentType ?? 'application/json',
            'content-length': Buffer.byteLength(body),
          }),
        },
      })
      sent.once('response', resolve)
      sent.on('error', reject)
      sent.end(body)
    })
  }
}

const isSuccess = ({ statusCode = 0 }: IncomingMessage): boolean => statusCode >= 200 && statusCode < 300

const nameOf = ({ method, path }: ApiRequest): string => `${method} ${path}`

async function textOf(answer: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of answer as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) throw new Error(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`)
    chunks.push(chunk)
  }
  if (!answer.complete) throw new Error('the answer ended early')
  return Buffer.concat(chunks).toString('utf8')
}

function errorOf(request: ApiRequest, { statusCode = 0, headers }: IncomingMessage, text: string): KubernetesError {
  const status = Status.safeParse(parseJson(text))
  const message = status.data?.message || `${nameOf(request)}: status ${statusCode}`
  const seconds = status.data?.details?.retryAfterSeconds ?? Number(headers['retry-after'] ?? 0)
  const retryAfterMs = Number.isFinite(seconds) ? Math.max(0, seconds * 1_000) : 0
  return new KubernetesError(statusCode, status.data?.reason ?? '', message, retryAfterMs)
}
