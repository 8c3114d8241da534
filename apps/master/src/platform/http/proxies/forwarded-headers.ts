import type { IncomingMessage, Server } from 'node:http'
import { Logger } from '@nestjs/common'
import proxyaddr from '@fastify/proxy-addr'

/**
 * Logs one warning when `X-Forwarded-For` arrives from an address that is not trusted: mostly a proxy missing from
 * `SERVICE_TRUSTED_PROXIES`, behind which all callers count as one address. Covers requests and upgrades.
 */
export function warnAboutUntrustedProxy(http: Server, trustedProxies: readonly string[]): void {
  const trust = proxyaddr.compile([...trustedProxies])
  const logger = new Logger('Http')
  const check = ({ headers, socket: { remoteAddress } }: IncomingMessage): void => {
    if (headers['x-forwarded-for'] === undefined || remoteAddress === undefined || trust(remoteAddress, 0)) return
    http.off('request', check).off('upgrade', check)
    logger.warn(
      { address: remoteAddress },
      'X-Forwarded-For from an untrusted address is ignored; if this is your proxy, add it to SERVICE_TRUSTED_PROXIES',
    )
  }
  http.on('request', check).on('upgrade', check)
}
