import { RETRY_AFTER_S } from '@session-service/server-kit'
import type { FastifyInstance } from 'fastify'
import type { Lifecycle } from '../config/lifecycle.js'
import { sendError } from './answers/errors.js'
import { SAFE_METHODS } from './origins/cross-site.js'

/** Rejects requests with side effects during a restart, and closes the connections of a master that is leaving. */
export function rejectDuringRestart(fastify: FastifyInstance, lifecycle: Lifecycle): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    if (!lifecycle.isRestarting || SAFE_METHODS.has(request.method)) return done()
    void reply.header('retry-after', String(RETRY_AFTER_S))
    return void sendError(request, reply, 503, 'the service is restarting')
  })
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    if (lifecycle.isLeaving) void reply.header('connection', 'close')
    done()
  })
}
