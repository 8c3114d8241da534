import type { FastifyInstance, FastifyReply } from 'fastify'

/** On every answer: its type is as declared, and nothing is cached unless the route says so. */
export const PROTECTIVE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' } as const

export function addProtectiveHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(PROTECTIVE_HEADERS))
    if (!reply.hasHeader(name)) void reply.header(name, value)
}

export function protectAnswers(fastify: FastifyInstance): void {
  fastify.addHook('onSend', async (_request, reply) => addProtectiveHeaders(reply))
}
