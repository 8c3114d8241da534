import { ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { MAX_API_SECRETS } from '@session-service/config'
import type { FastifyInstance } from 'fastify'
import { type Access, refusalOf } from '../../authentication/access.js'

/** The requirement of a route by its method and template; undefined when none is declared. */
export type AccessOf = (method: string, template: string) => Access | undefined

const requests = metrics.counter('http_credential_requests_total', {
  help: 'Requests with valid credentials, by the name of the credential',
  // SERVICE_SECRET and its predecessor come in addition.
  labels: { credential: MAX_API_SECRETS + 2 },
})

/**
 * Enforces the roles of credentials on all routes, with 403. A route without a declared requirement ends the start: it
 * would be open to every role, or to none. To be called before routes are registered.
 */
export function requireAccess(fastify: FastifyInstance, accessOf: AccessOf): void {
  const undeclared: string[] = []
  fastify.addHook('onRoute', ({ url, method }) => {
    for (const each of [method].flat())
      // Pre-flights of CORS have no credentials.
      if (each !== 'OPTIONS' && accessOf(each, url) === undefined) undeclared.push(`${each} ${url}`)
  })
  fastify.addHook('onReady', async () => {
    if (undeclared.length > 0) throw new Error(`routes without a declared access: ${undeclared.join(', ')}`)
  })
  // The session may be named in the body.
  fastify.addHook('preHandler', ({ method, params, body, credential, routeOptions }, _reply, done) => {
    if (!credential) return done()
    requests.inc({ credential: credential.name })
    const access = accessOf(method, routeOptions.url ?? '') ?? 'administration'
    const refusal = refusalOf(access, credential, { method, params, body })
    done(refusal === undefined ? undefined : new ServiceError('NOT_ALLOWED', refusal))
  })
}
