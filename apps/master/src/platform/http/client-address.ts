import type { IncomingMessage } from 'node:http'
import proxyaddr from '@fastify/proxy-addr'

/**
 * Where a request comes from: the peer, or behind proxies that are trusted what they say in `X-Forwarded-For`.
 * The same rule as Fastify's for REST. IPv4 as such, also where a dual-stack socket shows it mapped into IPv6.
 */
export function clientAddress(trustedProxies: readonly string[]): (request: IncomingMessage) => string {
  const trust = proxyaddr.compile([...trustedProxies])
  // Of a peer that is gone already there is no address.
  return (request) => (request.socket.remoteAddress ? proxyaddr(request, trust).replace(/^::ffff:/, '') : 'unknown')
}
