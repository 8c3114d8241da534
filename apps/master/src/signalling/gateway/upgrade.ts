import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { SIGNALLING_PATH } from '@session-service/contract'

/** The status for an upgrade that is refused; undefined for a valid one. */
export function upgradeRefusal({ url }: IncomingMessage, isClosing: boolean): string | undefined {
  const address = URL.parse(url ?? '/', 'http://localhost')
  if (!address) return '400 Bad Request'
  const { pathname, searchParams } = address
  if (pathname !== SIGNALLING_PATH) return '404 Not Found'
  if (isClosing) return '503 Service Unavailable'
  return searchParams.get('sessionId') && searchParams.get('token') ? undefined : '401 Unauthorized'
}

/** Answers and closes the stream, because the timeouts of the HTTP server do not apply to an upgrade. */
export function refuseUpgrade(stream: Duplex, status: string, headers: readonly string[] = []): void {
  stream.once('finish', () => stream.destroy())
  const lines = [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Length: 0', ...headers]
  stream.end(`${lines.join('\r\n')}\r\n\r\n`)
}
