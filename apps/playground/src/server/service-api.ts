import { z } from 'zod'

const TIMEOUT_MS = 10_000
const Failure = z.object({ message: z.string() })
const Created = z.object({ token: z.string() })

/** An answer for the page: an HTTP status and a sentence for the person. */
export class ApiError extends Error {
  override readonly name = 'ApiError'
  constructor(
    readonly status: number,
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}

type Call = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }

export interface ConnectionWish {
  readonly session: string
  readonly role: string
  /** Kept with the connection; every participant sees it as `serverData`. */
  readonly data: string
}

/** The calls of the service's REST interface that this application needs. The secret stays in here. */
export class ServiceApi {
  readonly #authorization: string
  readonly #serviceUrl: string

  constructor(serviceUrl: string, secret: string) {
    this.#serviceUrl = serviceUrl

    this.#authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
  }

  /** The token of a new connection; the session is created when it is not there. Rejects with an `ApiError`. */
  async tokenFor(wish: ConnectionWish): Promise<string> {
    const { session, role, data } = wish
    const path = `/sessions/${encodeURIComponent(session)}/connection`
    let answer = await this.call('POST', path, { role, data })
    if (answer.status === 404) {
      const created = await this.call('POST', '/sessions', { customSessionId: session })
      // 409: somebody else was quicker, which is as good.
      if (created.status !== 200 && created.status !== 409) throw await refused(created)
      answer = await this.call('POST', path, { role, data })
    }
    if (answer.status !== 200) throw await refused(answer)
    return Created.parse(await answer.json()).token
  }

  /** Whatever the service answers. Rejects with an `ApiError` when it does not. */
  call(method: 'GET' | 'POST', path: string, body?: object, timeoutMs = TIMEOUT_MS): Promise<Response> {
    return this.#fetch(`/service/api${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
  }

  /** A file of the service, or of it what `range` says. */
  file(path: string, range: string | undefined): Promise<Response> {
    return this.#fetch(path, range === undefined ? {} : { headers: { range } })
  }

  async #fetch(path: string, { headers, ...init }: Call): Promise<Response> {
    try {
      return await fetch(this.#serviceUrl + path, {
        ...init,
        headers: { ...headers, authorization: this.#authorization },
      })
    } catch (cause) {
      throw new ApiError(503, 'The service cannot be reached just now. Please try again in a moment.', { cause })
    }
  }
}

/** `told`: statuses that the page gets as they are, being nobody's fault. */
export async function refused(answer: Response, told: readonly number[] = []): Promise<ApiError> {
  if (answer.status === 401) return new ApiError(502, 'The service does not accept the secret of this application.')
  const body = Failure.safeParse(await answer.json().catch(() => undefined))
  const said = body.success ? body.data.message : `status ${answer.status}`
  if (told.includes(answer.status)) return new ApiError(answer.status, said)
  return new ApiError(answer.status >= 500 ? 503 : 502, `The service refused: ${said}`)
}
