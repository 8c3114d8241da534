import type { HttpErrorFilter } from '@session-service/server-kit'
import { FastifyAdapter } from '@nestjs/platform-fastify'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { BasicAuthGuard } from '../authentication/basic-auth-guard.js'
import { readBodies, refuseTransferCodings } from './bodies.js'
import { answerBrokenRequest } from './broken-requests.js'
import { refuseForeignPages } from './cross-site.js'
import { measureRequests } from './http-metrics.js'
import { answerUnknownRoutes, logRequests, newRequestId, protect, refuse } from './http-server.js'
import { addProtectiveHeaders, protectAnswers } from './response-headers.js'
import { discardUnreadBodies } from './unread-bodies.js'

/** Sizes in bytes, times in ms. */
export interface HttpLimits {
  bodyBytes: number
  headerBytes: number
  /** Until all headers are there. */
  headersMs: number
  /** Until the whole request is there. */
  requestMs: number
  /** How long a connection may be idle; longer than load balancers keep theirs, so that it is never us who ends first. */
  keepAliveMs: number
  /** How often times are looked at. */
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

export interface HttpOptions {
  gate: BasicAuthGuard
  errors: HttpErrorFilter
  /** Addresses or networks whose `X-Forwarded-For` is believed. */
  trustedProxies: readonly string[]
  /** Origins whose pages may change something. */
  namedOrigins?: ReadonlySet<string>
  /** Addresses that need no credentials, or bring their own. */
  open?: readonly RegExp[]
  limits?: Partial<HttpLimits>
}

/** The HTTP edge, hardened: whatever is served on it needs credentials and keeps within the limits. */
export function createHttpAdapter({
  gate,
  errors,
  trustedProxies,
  namedOrigins = new Set(),
  open = [],
  limits = {},
}: HttpOptions): FastifyAdapter {
  const { bodyBytes, headerBytes, headersMs, requestMs, keepAliveMs, checkMs } = { ...LIMITS, ...limits }
  const adapter = new FastifyAdapter({
    // Also what the router itself refuses is refused only to those who may know.
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void reply.header('x-request-id', request.id)
      addProtectiveHeaders(reply)
      if (!refuse(gate, request, reply)) errors.answer(error, request, reply)
    },
    // Whoever is connected already is answered to the end.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    bodyLimit: bodyBytes,
    requestTimeout: requestMs,
    keepAliveTimeout: keepAliveMs,
    http: {
      maxHeaderSize: headerBytes,
      headersTimeout: headersMs,
      connectionsCheckingInterval: checkMs,
      // Some clients ask for HTTP/2 with every request, and are answered without.
      shouldUpgradeCallback: ({ headers }) => /^websocket$/i.test(headers.upgrade ?? ''),
    },
    trustProxy: trustedProxies.length > 0 ? [...trustedProxies] : false,
    genReqId: newRequestId,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 256 },
  })
  const fastify = adapter.getInstance()
  readBodies(fastify)
  measureRequests(fastify)
  logRequests(fastify)
  protectAnswers(fastify)
  discardUnreadBodies(fastify)
  protect(fastify, gate, open)
  refuseForeignPages(fastify, namedOrigins)
  refuseTransferCodings(fastify)
  answerUnknownRoutes(fastify)
  return adapter
}
