import type { FastifyInstance } from 'fastify'
import { SAFE_METHODS } from '../../platform/http/origins/cross-site.js'

/** Calls `refresh` after each request with side effects of a dashboard, so that its effect is shown at once. */
export function refreshAfterActions(fastify: FastifyInstance, refresh: () => void): void {
  fastify.addHook('onResponse', ({ signIn, method }, _reply, done) => {
    if (signIn && !SAFE_METHODS.has(method)) refresh()
    done()
  })
}
