import { MAX_API_SECRETS } from '@session-service/config'
import { metrics } from '@session-service/server-kit'
import type { FastifyInstance } from 'fastify'
import type { RequestLimiter } from '../../limits/request-limiter.js'
import { sendError } from '../answers/errors.js'

/** Load balancers and operators probe it, whatever the load. */
const HEALTH = /^\/service\/api\/health\/?(?:\?|$)/

const refused = metrics.counter('http_requests_limited_total', {
  help: 'Requests beyond SERVICE_REST_RATE_LIMIT',
  // SERVICE_SECRET and its predecessor come in addition.
  labels: { credential: MAX_API_SECRETS + 2 },
})

/**
 * Answers 429 to requests beyond the rate of their credential. To be registered after the check of credentials.
 * `exempt`: further paths that do not count.
 */
export function limitRequests(fastify: FastifyInstance, limiter: RequestLimiter, exempt: readonly RegExp[]): void {
  const exempted = [HEALTH, ...exempt]
  fastify.addHook('onRequest', (request, reply, done) => {
    const { credential, url } = request
    if (!credential || exempted.some((path) => path.test(url))) return done()
    const seconds = limiter.wait(credential.name)
    if (seconds === 0) return done()
    refused.inc({ credential: credential.name })
    void reply.header('retry-after', String(seconds))
    return void sendError(request, reply, 429, 'more requests than SERVICE_REST_RATE_LIMIT permits this credential')
  })
}
