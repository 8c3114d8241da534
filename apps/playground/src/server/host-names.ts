import type { IncomingMessage } from 'node:http'

const LOOPBACK_ADDRESS = /^(::1|(::ffff:)?127\.[\d.]+)$/
/** Names that browsers always resolve to the local machine, so that no other site can use them. */
const LOOPBACK_NAME = /^(localhost|([\w-]+\.)+localhost|127\.\d+\.\d+\.\d+|\[::1\])$/

/**
 * Whether the Host header names this server. Another site can resolve its own name to 127.0.0.1 (DNS rebinding), so that
 * its pages have the same origin as this server and could read tokens. On other addresses any name is accepted unless
 * names are configured.
 */
export function isOwnName({ headers, socket }: IncomingMessage, names: readonly string[]): boolean {
  const isLoopback = LOOPBACK_ADDRESS.test(socket.localAddress ?? '')
  if (!isLoopback && names.length === 0) return true
  const name = URL.parse(`http://${headers.host ?? ''}`)?.hostname ?? ''
  return LOOPBACK_NAME.test(name) || names.includes(name)
}
