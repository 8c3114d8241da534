import type { IncomingMessage } from 'node:http'
import proxyaddr from '@fastify/proxy-addr'

/**
 * The address of a request's client: the peer, or behind trusted proxies the one in their `X-Forwarded-For`, by the same
 * rule as Fastify's for REST. Unwraps the IPv4-mapped IPv6 addresses of dual-stack sockets.
 */
export function clientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trust = proxyaddr.compile([...trustedProxies])
  // A peer that has disconnected has no address.
  return (request) => (request.socket.remoteAddress ? proxyaddr(request, trust).replace(/^::ffff:/, '') : 'unknown')
}
