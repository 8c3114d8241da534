import type { HttpErrorFilter } from '@session-service/server-kit'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BasicAuthGuard } from '../authentication/basic-auth-guard.js'
import type { RequestLimiter } from '../limits/request-limiter.js'
import { protect, refuse } from './access/authenticate-requests.js'
import { limitRequests } from './access/limit-requests.js'
import { type AccessOf, requireAccess } from './access/require-access.js'
import { addProtectiveHeaders, protectAnswers } from './answers/response-headers.js'
import { answerUnknownRoutes } from './answers/unknown-routes.js'
import { answerBrokenRequest } from './connections/broken-requests.js'
import { checkConnectionsOnlyWhileOpen } from './connections/check-connections.js'
import { closeConnections } from './connections/close-connections.js'
import { discardUnreadBodies } from './connections/unread-bodies.js'
import { measureRequests } from './observability/http-metrics.js'
import { logRequests, newRequestId } from './observability/log-requests.js'
import { traceRequests } from './observability/trace-requests.js'
import { refuseForeignPages } from './origins/cross-site.js'
import { readBodies, refuseTransferCodings } from './parsing/bodies.js'

/** Sizes in bytes, times in ms. */
interface HttpLimits {
  bodyBytes: number
  headerBytes: number
  /** Time-out of receiving all headers. */
  headersMs: number
  /** Time-out of receiving the whole request. */
  requestMs: number
  /** Time-out of an idle connection; longer than that of load balancers, so that the server never closes first. */
  keepAliveMs: number
  /** Interval of checking the time-outs of headers and requests. */
  checkMs: number
}

const LIMITS: HttpLimits = {
  bodyBytes: 1_048_576,
  headerBytes: 16_384,
  headersMs: 10_000,
  requestMs: 30_000,
  keepAliveMs: 72_000,
  checkMs: 1_000,
}

interface HttpOptions {
  guard: BasicAuthGuard
  errors: HttpErrorFilter
  /** Addresses or networks whose `X-Forwarded-For` is trusted. */
  trustedProxies: readonly string[]
  /** Origins whose pages may send requests with side effects. */
  namedOrigins?: ReadonlySet<string>
  /** Paths that need no credentials, or check their own. */
  open?: readonly RegExp[]
  /** The limit of requests of each credential, and the paths that do not count. */
  rate?: { limiter: RequestLimiter; exempt: readonly RegExp[] } | undefined
  /** The access that each route requires of credentials with roles; without it every credential may use all routes. */
  accessOf?: AccessOf
  /** The address of the route for that of a request. */
  rewriteUrl?: ((request: { url?: string }) => string) | undefined
  limits?: Partial<HttpLimits>
}

function fastifyAdapter({
  guard,
  errors,
  trustedProxies,
  rewriteUrl,
  limits,
}: Pick<HttpOptions, 'guard' | 'errors' | 'trustedProxies' | 'rewriteUrl' | 'limits'>): FastifyAdapter {
  const { bodyBytes, headerBytes, headersMs, requestMs, keepAliveMs, checkMs } = { ...LIMITS, ...limits }
  return new FastifyAdapter({
    // The router's own errors are shown only with valid credentials, too.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id)
      addProtectiveHeaders(reply)
      if (!refuse(guard, request, reply)) errors.answer(error, request, reply)
    },
    // Requests on open connections are answered during a shutdown.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    bodyLimit: bodyBytes,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    http: {
      maxHeaderSize: headerBytes,
      headersTimeout: headersMs,
      connectionsCheckingInterval: checkMs,
      // Some clients offer an upgrade to HTTP/2 with every request: they are answered over HTTP/1.1.
      shouldUpgradeCallback: ({ headers }) => /^websocket$/i.test(headers.upgrade ?? ''),
    },
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    genReqId: newRequestId,
    ...(rewriteUrl && { rewriteUrl }),
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
  })
}

/** The hardened HTTP adapter: all routes need credentials, and all requests have to keep the limits. */
export function createHttpAdapter({
  guard,
  errors,
  trustedProxies,
  namedOrigins = new Set(),
  open = [],
  rate,
  accessOf,
  rewriteUrl,
  limits = {},
}: HttpOptions): FastifyAdapter {
  const adapter = fastifyAdapter({ guard, errors, trustedProxies, rewriteUrl, limits })
  const fastify = adapter.getInstance()
  checkConnectionsOnlyWhileOpen(fastify.server)
  closeConnections(fastify)
  readBodies(fastify)
  measureRequests(fastify)
  // Before the log, whose lines have the id of the trace.
  traceRequests(fastify)
  logRequests(fastify)
  protectAnswers(fastify)
  discardUnreadBodies(fastify)
  protect(fastify, guard, open)
  if (accessOf) requireAccess(fastify, accessOf)
  if (rate) limitRequests(fastify, rate.limiter, rate.exempt)
  refuseForeignPages(fastify, namedOrigins)
  refuseTransferCodings(fastify)
  answerUnknownRoutes(fastify)
  return adapter
}
