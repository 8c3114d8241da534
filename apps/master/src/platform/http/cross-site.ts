import type { FastifyInstance } from 'fastify'
import { sendError } from './errors.js'

const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Header values by which browsers say which page sent a request, and the host that the request is for. */
export interface Sender {
  origin: string | undefined
  fetchSite: string | undefined
  host: string
}

/** Origins that are allowed by name, which `*` is not; the service's own public address is one. */
export function namedOrigins(corsOrigins: readonly string[], publicUrl: string): ReadonlySet<string> {
  const configured = [...corsOrigins.filter((origin) => origin !== '*'), publicUrl]
  return new Set(configured.flatMap((text) => [text, originOf(text)].filter((origin) => origin !== 'null')))
}

/** Undefined for what is no URL, 'null' for schemes without an origin of their own. */
const originOf = (text: string): string => URL.parse(text)?.origin ?? 'null'

/**
 * Whether a page of another origin sent it, and none that is allowed by name. Browsers add stored Basic credentials to
 * such a request, so that credentials prove nothing. Programs send neither header.
 */
export function isForeign({ origin, fetchSite, host }: Sender, named: ReadonlySet<string>): boolean {
  if (origin !== undefined && named.has(origin)) return false
  // The browser knows best: behind a proxy neither Host nor scheme need be those of the page's address.
  if (fetchSite === 'same-origin') return false
  if (fetchSite !== undefined && fetchSite !== 'none') return true
  return origin !== undefined && !isOfHost(origin, host)
}

function isOfHost(origin: string, host: string): boolean {
  const page = URL.parse(origin)
  return page !== null && page.host !== '' && page.host === URL.parse(`${page.protocol}//${host}`)?.host
}

/** Requests that change something get 403 when a foreign page sent them (cross-site request forgery). */
export function refuseForeignPages(fastify: FastifyInstance, named: ReadonlySet<string>): void {
  fastify.addHook('onRequest', async (request, reply) => {
    if (SAFE_METHODS.has(request.method)) return undefined
    const { origin, 'sec-fetch-site': site } = request.headers
    if (!isForeign({ origin, fetchSite: site?.toLowerCase(), host: request.host }, named)) return undefined
    return sendError(request, reply, 403, 'Origin: pages of other origins must be named in SERVICE_CORS_ORIGINS')
  })
}
