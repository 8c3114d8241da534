import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ServiceError } from '@session-service/contract'
import type { HttpErrorFilter } from '@session-service/server-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { BasicAuthGuard } from '../../platform/authentication/basic-auth-guard.js'
import type { ClusterClock } from '../../platform/database/cluster-clock.js'
import { refuse } from '../../platform/http/access/authenticate-requests.js'
import type { LayoutCookies } from './layout-cookies.js'
import { type LayoutFile, openLayoutFile } from './layout-file.js'

export const LAYOUTS_PATH = '/service/layouts/'
const LIBRARY = 'recorder.js'
/** Accepts the cookie of a layout instead of the credentials of the service. */
export const LAYOUT_ADDRESS = /^\/service\/layouts\//

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.ico': 'image/x-icon',
  '.woff': 'font/woff',
  '.woff2': 'font/woff2',
  '.ttf': 'font/ttf',
  '.otf': 'font/otf',
  '.mp3': 'audio/mpeg',
  '.ogg': 'audio/ogg',
  '.wav': 'audio/wav',
  '.mp4': 'video/mp4',
  '.webm': 'video/webm',
  '.wasm': 'application/wasm',
}

interface Dependencies {
  root: string
  cookies: LayoutCookies
  clock: ClusterClock
  gate: BasicAuthGuard
  errors: HttpErrorFilter
}

type LayoutRequest = FastifyRequest<{ Params: { '*': string } }>

/** Routes the pages of custom layouts, and the library with which they join. */
export async function serveLayouts(
  fastify: FastifyInstance,
  { root, cookies, clock, gate, errors }: Dependencies,
): Promise<void> {
  const library = fileURLToPath(new URL('./bundle/', import.meta.resolve('@session-service/client')))
  await fastify.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => errors.answer(error, request, reply))
    scope.addHook('onRequest', async (request, reply) => {
      const path = `${LAYOUTS_PATH}${(request as LayoutRequest).params['*']}`
      const isOpen = path === LAYOUTS_PATH + LIBRARY || cookies.isValid(request.headers.cookie, path, clock.now())
      return !isOpen && refuse(gate, request, reply) ? reply : undefined
    })
    scope.route<{ Params: { '*': string } }>({
      method: ['GET', 'HEAD'],
      url: `${LAYOUTS_PATH}*`,
      handler: async (request, reply) => {
        const { '*': path } = request.params
        if (path === LIBRARY) void reply.header('access-control-allow-origin', '*')
        const type = TYPES[extname(path).toLowerCase()]
        // Files of other types are not part of a page and are never opened.
        const found = type && (await openLayoutFile(path === LIBRARY ? library : root, path))
        if (!found) throw new ServiceError('NOT_FOUND', 'there is no such file of a layout')
        return answer(request, reply, type, found)
      },
    })
  })
}

async function answer(request: FastifyRequest, reply: FastifyReply, type: string, { handle, size }: LayoutFile) {
  void reply
    .type(type)
    .header('content-length', size)
    .header('x-content-type-options', 'nosniff')
    .header('cache-control', 'no-store')
  if (request.method !== 'HEAD' && size > 0) return reply.send(handle.createReadStream())
  await handle.close()
  return reply.send()
}
