import { STATUS_CODES } from 'node:http'
import type { ErrorView } from '@session-service/contract'
import { serviceClock } from '@session-service/server-kit'
import type { FastifyReply, FastifyRequest } from 'fastify'

export const errorView = (status: number, message: string, path: string): ErrorView => ({
  timestamp: serviceClock.now(),
  status,
  error: STATUS_CODES[status] ?? 'Error',
  message,
  path,
})

/** Sends the contract's error body with the path that was requested, for requests that reach no route. */
export function sendError(request: FastifyRequest, reply: FastifyReply, status: number, message: string): FastifyReply {
  return reply.code(status).send(errorView(status, message, request.originalUrl.split('?', 1)[0] ?? ''))
}
