import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'

/** The longest that `fetch` waits for the start of an answer, ms; only a package could change that. */
export const FETCH_TIMEOUT_MS = 300_000

interface Init {
  method: string
  headers: Record<string, string>
  body?: string
  signal: AbortSignal
}

/** Like `fetch` with `redirect: 'error'`, but only `signal` limits how long it waits. */
export async function patientFetch(
  url: URL,
  { body, headers: own, ...options }: Init,
): Promise<Pick<Response, 'status' | 'headers' | 'text'>> {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  // Such requests are rare: the server would have closed a connection that was kept for the next one.
  const headers = { ...own, connection: 'close' }
  const answer = await new Promise<IncomingMessage>((resolve, reject) => {
    request(url, { ...options, headers }, resolve)
      .on('error', reject)
      .end(body)
  })
  const { statusCode: status = 0, headersDistinct } = answer
  if (status >= 300 && status < 400) {
    answer.destroy()
    throw new Error('unexpected redirect')
  }
  const received = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    values.map((value): [string, string] => [name, value]),
  )
  return { status, headers: new Headers(received), text: () => text(answer) }
}
