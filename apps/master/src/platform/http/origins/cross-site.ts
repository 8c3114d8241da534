import type { FastifyInstance } from 'fastify'
import { sendError } from '../answers/errors.js'

/** Methods without side effects. */
export const SAFE_METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Headers in which browsers send the origin of the page that makes a request, and the request's host. */
interface Sender {
  origin: string | undefined
  fetchSite: string | undefined
  host: string
}

/** Origins that are allowed by name (`*` names none), and the service's own public address. */
export function namedOrigins(corsOrigins: readonly string[], publicUrl: string): ReadonlySet<string> {
  const configured = [...corsOrigins.filter((origin) => origin !== '*'), publicUrl]
  return new Set(configured.flatMap((text) => [text, originOf(text)].filter((origin) => origin !== 'null')))
}

/** The origin of a URL; 'null' for text that is no URL and for schemes without an origin. */
const originOf = (text: string): string => URL.parse(text)?.origin ?? 'null'

/**
 * Whether a page of another origin, which is not allowed by name, sent the request. Browsers add stored Basic
 * credentials to such requests, so that credentials prove nothing. Programs send neither header.
 */
export function isForeign({ origin, fetchSite, host }: Sender, named: ReadonlySet<string>): boolean {
  if (origin !== undefined && named.has(origin)) return false
  // The browser's own comparison is right also behind a proxy, which may change host and scheme.
  if (fetchSite === 'same-origin') return false
  if (fetchSite !== undefined && fetchSite !== 'none') return true
  return origin !== undefined && !isOfHost(origin, host)
}

function isOfHost(origin: string, host: string): boolean {
  const page = URL.parse(origin)
  return page !== null && page.host !== '' && page.host === URL.parse(`${page.protocol}//${host}`)?.host
}

/** Answers 403 to requests with side effects from pages of other origins (cross-site request forgery). */
export function refuseForeignPages(fastify: FastifyInstance, named: ReadonlySet<string>): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    if (SAFE_METHODS.has(request.method)) return done()
    const { origin, 'sec-fetch-site': site } = request.headers
    if (!isForeign({ origin, fetchSite: site?.toLowerCase(), host: request.host }, named)) return done()
    return void sendError(request, reply, 403, 'Origin: pages of other origins must be named in SERVICE_CORS_ORIGINS')
  })
}
