import { readdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { DASHBOARD_PATH } from '@session-service/contract/dashboard'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'

const PAGE = 'index.html'
const COMPRESSED = /\.(br|gz)$/
/** The name contains a hash of the content. */
const HASHED = /-[0-9A-Za-z]{8,}\.\w+$/
/** Everything but recordings comes from this server; the page cannot be framed, and submits no forms by itself. */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  ...['script-src', 'style-src', 'font-src', 'connect-src'].map((kind) => `${kind} 'self'`),
  // Recordings in an object storage.
  "media-src 'self' https:",
  "img-src 'self' data:",
  ...['base-uri', 'form-action', 'frame-ancestors'].map((kind) => `${kind} 'none'`),
].join('; ')

/** Need no credentials: the page and its files, by which an operator signs in, and the sign-in itself. */
export const OPEN_DASHBOARD_ADDRESSES = /^\/service\/dashboard(?:\/(?:sign-in|sign-out|[\w-]+(?:\.[\w-]+)+)?)?(?:\?|$)/

/** Serves the built page at `/service/dashboard/`. Browsers revalidate files at each use, unless their names are hashed. */
export async function serveDashboardPage(fastify: FastifyInstance): Promise<void> {
  const root = dirname(fileURLToPath(import.meta.resolve(`@session-service/dashboard/public/${PAGE}`)))
  const files = (await readdir(root)).filter((file) => !COMPRESSED.test(file) && file !== PAGE)
  await fastify.register(async (scope) => {
    await scope.register(fastifyStatic, { root, serve: false, preCompressed: true, acceptRanges: false })
    scope.addHook('onSend', async (_request, reply) => describeFile(reply))
    // The router ignores a trailing slash, on which the relative addresses of the page depend.
    scope.get(DASHBOARD_PATH, async ({ url }, reply) => {
      const [path = '', query] = url.split('?')
      if (path.endsWith('/')) return reply.header('cache-control', 'no-cache').sendFile(PAGE, { cacheControl: false })
      return reply.redirect(`${DASHBOARD_PATH}/${query === undefined ? '' : `?${query}`}`, 308)
    })
    for (const file of files)
      scope.get(`${DASHBOARD_PATH}/${file}`, async (_request, reply) => {
        if (HASHED.test(file)) return reply.sendFile(file, { immutable: true, maxAge: '365d' })
        return reply.header('cache-control', 'no-cache').sendFile(file, { cacheControl: false })
      })
  })
}

function describeFile(reply: FastifyReply): void {
  void reply
    .header('content-security-policy', CONTENT_SECURITY_POLICY)
    .header('referrer-policy', 'no-referrer')
    .header('cross-origin-opener-policy', 'same-origin')
    .header('cross-origin-resource-policy', 'same-origin')
}
