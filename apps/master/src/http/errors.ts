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

/** The contract's error body, from where no route is reached. */
export function sendError(request: FastifyRequest, reply: FastifyReply, status: number, message: string): FastifyReply {
  // Nobody reads the body of a refused request: the connection that carries it ends with the answer.
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers
  if (encoding !== undefined || length !== '0') void reply.header('connection', 'close')
  return reply.code(status).send(errorView(status, message, request.url.split('?', 1)[0] ?? ''))
}
