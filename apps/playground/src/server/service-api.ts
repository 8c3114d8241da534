import { z } from 'zod'

const TIMEOUT_MS = 10_000
const Failure = z.object({ message: z.string() })
const Created = z.object({ token: z.string() })

/** An error answer for the page: an HTTP status and a sentence for the user. */
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

/** The filters in the menu of the page. */
const mediaserverOptions = {
  allowedFilters: ['BlurFilter', 'ChromaFilter', 'ImageOverlayFilter', 'NoiseSuppressionFilter', 'AudioGainFilter'],
}

type Call = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> }

interface ConnectionRequest {
  readonly session: string
  readonly role: string
  /** Stored with the connection; all participants can read it as `serverData`. */
  readonly data: string
}

/** The calls of the REST API that the playground needs. */
export class ServiceApi {
  readonly #authorization: string
  readonly #serviceUrl: string

  constructor(serviceUrl: string, secret: string) {
    this.#serviceUrl = serviceUrl

    this.#authorization = `Basic ${Buffer.from(`SERVICEAPP:${secret}`).toString('base64')}`
  }

  /** Creates a connection, and the session if it does not exist, and returns the token. Rejects with an `ApiError`. */
  async tokenFor(request: ConnectionRequest): Promise<string> {
    const { session, role, data } = request
    const path = `/sessions/${encodeURIComponent(session)}/connection`
    const connection = { role, data, mediaserverOptions }
    let answer = await this.call('POST', path, connection)
    if (answer.status === 404) {
      const created = await this.call('POST', '/sessions', { customSessionId: session })
      // 409: another request has created the session meanwhile.
      if (created.status !== 200 && created.status !== 409) throw await refused(created)
      answer = await this.call('POST', path, connection)
    }
    if (answer.status !== 200) throw await refused(answer)
    return Created.parse(await answer.json()).token
  }

  /** Returns any answer of the service. Rejects with an `ApiError` without an answer. */
  call(method: 'GET' | 'POST', path: string, body?: object, timeoutMs = TIMEOUT_MS): Promise<Response> {
    return this.#fetch(`/service/api${path}`, {
      method,
      ...(body && { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(timeoutMs),
    })
  }

  /** Fetches a file of the service, or a range of it. */
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

/** Converts an error answer of the service. `forwarded` lists the statuses that the page gets unchanged. */
export async function refused(answer: Response, forwarded: readonly number[] = []): Promise<ApiError> {
  if (answer.status === 401) return new ApiError(502, 'The service does not accept the secret of this application.')
  const body = Failure.safeParse(await answer.json().catch(() => undefined))
  const message = body.success ? body.data.message : `status ${answer.status}`
  if (forwarded.includes(answer.status)) return new ApiError(answer.status, message)
  return new ApiError(answer.status >= 500 ? 503 : 502, `The service refused: ${message}`)
}
