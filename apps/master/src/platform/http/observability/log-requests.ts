import { randomUUID } from 'node:crypto'
import { Logger } from '@nestjs/common'
import type { FastifyInstance } from 'fastify'

/** Logs one line per answer, so that a request can be followed by its id. */
export function logRequests(fastify: FastifyInstance): void {
  const logger = new Logger('Http')
  fastify.addHook('onResponse', (request, reply, done) => {
    const { id: requestId, method, ip, credential } = request
    const path = request.url.split('?', 1)[0]
    const ms = Math.round(reply.elapsedTime)
    logger.debug(
      {
        requestId,
        method,
        path,
        status: reply.statusCode,
        ms,
        ip,
        ...(credential && { credentialName: credential.name }),
      },
      'answered',
    )
    done()
  })
}

export const newRequestId = ({ headers }: { headers: Record<string, string | string[] | undefined> }): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
}
