import { type ActiveSpan, formatTraceparent, isTracing, startSpan, withSpan } from '@session-service/server-kit'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Parameters of routes that are ids, by the attribute that shows them. */
const IDS = [
  ['sessionId', 'session.id'],
  ['connectionId', 'connection.id'],
  ['mediaNodeId', 'mediaNode.id'],
] as const

function idsIn({ params }: FastifyRequest): Record<string, string> {
  const given: Record<string, unknown> = typeof params === 'object' && params !== null ? { ...params } : {}
  return Object.fromEntries(
    IDS.flatMap(([name, attribute]) => {
      const value = given[name]
      return typeof value === 'string' ? [[attribute, value] as const] : []
    }),
  )
}

function start(request: FastifyRequest): ActiveSpan | undefined {
  const { method, headers, routeOptions } = request
  const { traceparent, authorization } = headers
  return startSpan(`${method} ${routeOptions.url ?? 'unknown'}`, {
    kind: 'server',
    attributes: {
      'http.request.method': method,
      'http.route': routeOptions.url ?? '',
      'request.id': request.id,
      ...idsIn(request),
    },
    // Only a caller with credentials decides what is recorded.
    ...(authorization !== undefined && typeof traceparent === 'string' && { parent: traceparent }),
  })
}

/**
 * A span for each request that passed the check of the credentials, with the route's template as its name; the answer
 * has its `traceparent`. Without tracing the hooks do nothing.
 */
export function traceRequests(fastify: FastifyInstance): void {
  const spans = new WeakMap<FastifyRequest, ActiveSpan>()
  // After all hooks of `onRequest`, which check the credentials.
  fastify.addHook('preParsing', (request, reply, _payload, done) => {
    const span = isTracing() ? start(request) : undefined
    if (span) {
      spans.set(request, span)
      void reply.header('traceparent', formatTraceparent(span.position))
    }
    done()
  })
  // Parsing the body leaves the context of `preParsing`.
  fastify.addHook('preValidation', (request, _reply, done) => withSpan(spans.get(request), done))
  fastify.addHook('onResponse', (request, { statusCode }, done) => {
    const span = spans.get(request)
    span?.set({ 'http.response.status_code': statusCode })
    if (statusCode >= 500) span?.fail(String(statusCode))
    span?.end()
    withSpan(span, done)
  })
}
