import { ServiceError } from '@session-service/contract'

export interface Token {
  /** The URL of the socket: the whole token. */
  readonly url: string
  readonly sessionId: string
  /** The `tok_…` part, which authenticates `join`. */
  readonly secret: string
}

const invalid = (why: string): ServiceError => new ServiceError('INVALID', `token: ${why}`)

function asUrl(text: string): URL | undefined {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/** Parses `ws(s)://host[:port]/service/signalling?sessionId=…&token=tok_…`. Throws INVALID and names the wrong part. */
export function parseToken(text: string): Token {
  if (typeof text !== 'string' || text === '') throw invalid('is empty; pass the "token" of a connection')
  const url = asUrl(text.trim())
  if (!url) throw invalid('is not a URL; pass the whole "token" of a connection, not only its tok_… part')
  if (url.protocol !== 'ws:' && url.protocol !== 'wss:') throw invalid(`begins with ${url.protocol}, not ws: or wss:`)
  const sessionId = url.searchParams.get('sessionId')
  const secret = url.searchParams.get('token')
  if (!sessionId) throw invalid('has no "sessionId"')
  if (!secret) throw invalid('has no "token"')
  return { url: url.href, sessionId, secret }
}
