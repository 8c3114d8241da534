import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance } from 'fastify'

/** The browser library, as built: `/service/client/session-client.js`. */
export async function serveClientLibrary(fastify: FastifyInstance): Promise<void> {
  const root = fileURLToPath(new URL('./bundle/', import.meta.resolve('@session-service/client')))
  await fastify.register(fastifyStatic, {
    root,
    prefix: '/service/client/',
    decorateReply: false,
    index: false,
    setHeaders: (reply) => void reply.header('access-control-allow-origin', '*'),
  })
}
