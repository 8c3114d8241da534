import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { LegacyNames } from '../wire/names.js'
import { nativeMembers, renamedMembers, renamedStream } from './member-names.js'

/**
 * The paths that clients of version 2 read below their prefix, without those of the dashboard and the client library.
 */
const ALIASED = ['api', 'recordings', 'cdr', 'layouts']

/** The address of a route for one below the prefix of version 2; other addresses stay as they are. */
export function legacyAddresses({ prefix }: LegacyNames): (request: Pick<IncomingMessage, 'url'>) => string {
  const start = `/${prefix}/`
  const aliased = new RegExp(`^/${prefix}/(?=(?:${ALIASED.join('|')})(?:[/?]|$))`)
  return ({ url = '' }) => (url.startsWith(start) ? url.replace(aliased, '/service/') : url)
}

/** Reads and answers requests of version 2 with its names of members. Other requests are not changed. */
export function translateLegacyRequests(fastify: FastifyInstance, names: LegacyNames): void {
  const isLegacy = legacyRequests(names)
  fastify.addHook('preValidation', async (request) => {
    if (isLegacy(request)) request.body = nativeMembers(request.body, names)
  })
  fastify.addHook('onSend', async (request, reply, payload: unknown) => {
    if (!isLegacy(request) || !/^application\/json\b/.test(String(reply.getHeader('content-type')))) return payload
    if (typeof payload === 'string') return renamedMembers(payload, names)
    return payload instanceof Readable ? payload.pipe(renamedStream(names)) : payload
  })
}

/** Requests below the prefix, and on the deprecated paths, which have no prefix, those of the user of version 2. */
function legacyRequests({ prefix, user }: LegacyNames): (request: FastifyRequest) => boolean {
  const start = `/${prefix}/`
  return ({ originalUrl, headers }) =>
    originalUrl.startsWith(start) || (originalUrl.startsWith('/api/') && userOf(headers.authorization) === user)
}

function userOf(authorization: string | undefined): string {
  const [, encoded = ''] = /^basic +(\S+)/i.exec(authorization ?? '') ?? []
  return Buffer.from(encoded, 'base64').toString('utf8').split(':', 1)[0] ?? ''
}
