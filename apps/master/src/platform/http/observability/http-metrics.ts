import { isCameraFailure, metrics } from '@session-service/server-kit'
import type { FastifyInstance, FastifyReply } from 'fastify'

/** More than there are routes, so that none is counted as `other`. */
const MAX_ROUTES = 120

const duration = metrics.histogram('http_request_seconds', {
  help: 'Time from a request to the end of its response',
  labels: {
    method: ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'],
    route: MAX_ROUTES,
    status: ['2xx', '3xx', '4xx', '5xx', 'refused'],
  },
  buckets: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
})

/** `refused`: with 5xx, but no fault: 501 of a module that is switched off, 500 of a camera that cannot be read. */
const statusOf = (reply: FastifyReply): string =>
  reply.statusCode === 501 || isCameraFailure(reply) ? 'refused' : `${Math.floor(reply.statusCode / 100)}xx`

/** Measures the duration of requests by the route's template, which bounds the labels. */
export function measureRequests(fastify: FastifyInstance): void {
  fastify.addHook('onResponse', ({ method, routeOptions }, reply, done) => {
    // A stream of events lasts as long as its client looks.
    if (String(reply.getHeader('content-type')).startsWith('text/event-stream')) return done()
    duration.observe({ method, route: routeOptions.url ?? 'none', status: statusOf(reply) }, reply.elapsedTime / 1000)
    done()
  })
}
