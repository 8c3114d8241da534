import { CSRF_HEADER } from '@session-service/contract/dashboard'

/** An answer that is no success, or none at all (status 0); the message is the service's. */
export class RequestError extends Error {
  override readonly name = 'RequestError'
  readonly status: number
  /** Seconds until another attempt makes sense. */
  readonly retryAfter: number | undefined
  constructor(status: number, message: string, retryAfter?: number) {
    super(message)
    this.status = status
    this.retryAfter = retryAfter
  }
}

interface SendOptions {
  body?: unknown
  csrfToken?: string | undefined
}

/** Sends a request and returns its answer in JSON, undefined without a body. Rejects with a RequestError. */
export async function send<T>(method: string, path: string, options: SendOptions = {}): Promise<T> {
  const { body, csrfToken } = options
  const headers = new Headers({ accept: 'application/json' })
  if (body !== undefined) headers.set('content-type', 'application/json')
  // Requests with this header have the role of the cookie, also when the browser adds stored Basic credentials.
  if (csrfToken !== undefined) headers.set(CSRF_HEADER, csrfToken)
  const init: RequestInit = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) }
  const answer = await fetch(path, init).catch(() => {
    throw new RequestError(0, 'The service does not answer. Check the connection and try again.')
  })
  const text = await answer.text()
  if (answer.ok) return (text === '' ? undefined : JSON.parse(text)) as T
  const retryAfter = Number(answer.headers.get('retry-after') ?? Number.NaN)
  throw new RequestError(answer.status, messageOf(text, answer), Number.isFinite(retryAfter) ? retryAfter : undefined)
}

/** Why a GET is no success; undefined when it is one, and when the service does not answer. */
export async function failureOf(path: string): Promise<{ status: number; message: string } | undefined> {
  const end = new AbortController()
  const answer = await fetch(path, { signal: end.signal }).catch(() => undefined)
  if (!answer) return undefined
  const failure = answer.ok ? undefined : { status: answer.status, message: messageOf(await answer.text(), answer) }
  // The body of a success may be an endless stream.
  end.abort()
  return failure
}

function messageOf(text: string, answer: Response): string {
  try {
    const { message } = JSON.parse(text) as { message?: unknown }
    if (typeof message === 'string' && message !== '') return message
  } catch {
    // A proxy answered.
  }
  return `The service answered ${answer.status}${answer.statusText && ` (${answer.statusText})`}`
}

export const messageFrom = (error: unknown): string => (error instanceof Error ? error.message : String(error))
