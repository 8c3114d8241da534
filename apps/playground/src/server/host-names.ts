import type { IncomingMessage } from 'node:http'

const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127\.[\d.]+)$/
/** Names that browsers resolve to the machine itself, so that no other site can take them over. */
const LOOPBACK_NAME = /^(localhost|([\w-]+\.)+localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * Whether a request names this server. A foreign site may let its own name point at 127.0.0.1 (DNS rebinding); its pages
 * are then of one origin with this server and could read tokens. Elsewhere all names count unless some were configured.
 */
export function isOwnName({ headers, socket }: IncomingMessage, names: readonly string[]): boolean {
  const isLoopback = LOOPBACK_ADDRESS.test(socket.localAddress ?? '')
  if (!isLoopback && names.length === 0) return true
  const name = URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? ''
  return LOOPBACK_NAME.test(name) || names.includes(name)
}
