import type { FastifyInstance } from 'fastify'
import { sendError } from './errors.js'

/** Answers 405 where the path exists with another method, and 404 where it does not. */
export function answerUnknownRoutes(fastify: FastifyInstance): void {
  const routes: { pattern: RegExp; method: string }[] = []
  fastify.addHook('onRoute', ({ url, method }) => {
    // The wildcard route for CORS pre-flights would match all paths.
    if (method === 'OPTIONS') return
    const pattern = new RegExp(`^${url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}/?$`)
    for (const each of [method].flat()) routes.push({ pattern, method: each })
  })
  fastify.addHook('onRequest', (request, reply, done) => {
    if (!request.is404) return done()
    const [path = ''] = request.url.split('?')
    const allowed = [...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
    if (allowed.length === 0) return void sendError(request, reply, 404, 'there is no such path')
    void reply.header('allow', allowed.join(', '))
    return void sendError(request, reply, 405, `the path does not take ${request.method}`)
  })
}
