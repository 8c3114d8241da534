import { randomUUID } from 'node:crypto'
import { Logger } from '@nestjs/common'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BasicAuthGuard } from '../authentication/basic-auth-guard.js'
import { sendError } from './errors.js'

/** Open to everybody: the client library, also by version. Exact spellings only; anything else needs credentials. */
const PUBLIC = /^\/service\/client\/(\d+\.\d+\.\d+-[0-9a-f]{12}\/)?[A-Za-z0-9._-]+(\?|$)/

/** 401 before anything else on every path but those that are open; a request id on every answer. */
export function protect(fastify: FastifyInstance, gate: BasicAuthGuard, open: readonly RegExp[] = []): void {
  fastify.addHook('onRequest', async (request, reply) => {
    void reply.header('x-request-id', request.id)
    const isOpen = [PUBLIC, ...open].some((address) => address.test(request.url))
    if (request.method === 'OPTIONS' || isOpen) return undefined
    return refuse(gate, request, reply) ? reply : undefined
  })
}

/** Whether it was refused, and answered. */
export function refuse(gate: BasicAuthGuard, request: FastifyRequest, reply: FastifyReply): boolean {
  const refusal = gate.refuse(request.headers.authorization, request.ip)
  if (!refusal) return false
  if (refusal.status === 401) void reply.header('www-authenticate', 'Basic realm="service", charset="UTF-8"')
  else void reply.header('retry-after', String(refusal.retryAfterSeconds))
  sendError(request, reply, refusal.status, refusal.message)
  return true
}

/** Answers 405 where the path exists with another method, and 404 where it does not. */
export function answerUnknownRoutes(fastify: FastifyInstance): void {
  const routes: { pattern: RegExp; method: string }[] = []
  fastify.addHook('onRoute', ({ url, method }) => {
    // The catch-all that answers pre-flights says nothing of which paths there are.
    if (method === 'OPTIONS') return
    const pattern = new RegExp(`^${url.replace(/:\w+/g, '[^/]+').replace('*', '.*')}/?$`)
    for (const each of [method].flat()) routes.push({ pattern, method: each })
  })
  fastify.addHook('onRequest', async (request, reply) => {
    if (!request.is404) return undefined
    const [path = ''] = request.url.split('?')
    const allowed = [...new Set(routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method))]
    if (allowed.length === 0) return sendError(request, reply, 404, 'there is no such path')
    void reply.header('allow', allowed.join(', '))
    return sendError(request, reply, 405, `the path does not take ${request.method}`)
  })
}

/** A line per answer, to follow one request by its id through the logs. */
export function logRequests(fastify: FastifyInstance): void {
  const logger = new Logger('Http')
  fastify.addHook('onResponse', async (request, reply) => {
    const { id: requestId, method, ip } = request
    const path = request.url.split('?', 1)[0]
    const ms = Math.round(reply.elapsedTime)
    logger.debug({ requestId, method, path, status: reply.statusCode, ms, ip }, 'answered')
  })
}

export const newRequestId = ({ headers }: { headers: Record<string, string | string[] | undefined> }): string => {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{1,128}$/.test(given) ? given : randomUUID()
}
