import type { FastifyInstance, FastifyReply } from 'fastify'

/** Headers of all answers: no content sniffing, and no caching unless the route permits it. */
export const PROTECTIVE_HEADERS = { 'x-content-type-options': 'nosniff', 'cache-control': 'no-store' } as const

export function addProtectiveHeaders(reply: FastifyReply): void {
  for (const [name, value] of Object.entries(PROTECTIVE_HEADERS))
    if (!reply.hasHeader(name)) void reply.header(name, value)
}

export function protectAnswers(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (_request, reply, _payload, done) => {
    addProtectiveHeaders(reply)
    done()
  })
}
