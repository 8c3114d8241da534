import { createHash } from 'node:crypto'
import { readFile, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'

const PREFIX = '/service/client/'
const LIBRARY = 'session-client.js'
const COMPRESSED = /\.(br|gz)$/
const Manifest = z.object({ version: z.string() })

/**
 * Serves the built browser library as `/service/client/session-client.js`, which browsers revalidate at each use, and
 * under `/service/client/<version>/`, which they cache. The build produces the compressed variants.
 */
export async function serveClientLibrary(fastify: FastifyInstance): Promise<void> {
  const root = fileURLToPath(new URL('./bundle/', import.meta.resolve('@session-service/client')))
  const files = (await readdir(root)).filter((file) => !COMPRESSED.test(file))
  const version = await versionOf(root)
  const shared = { root, decorateReply: false, index: false as const, preCompressed: true, acceptRanges: false }
  await fastify.register(async (scope) => {
    describeFiles(scope)
    await scope.register(fastifyStatic, {
      ...shared,
      prefix: PREFIX,
      // Excludes the compressed files themselves.
      allowedPath: (path) => files.includes(basename(path)),
      setHeaders: (reply, path) => {
        const file = basename(path).replace(COMPRESSED, '')
        void reply.header('cache-control', 'no-cache').header('content-location', `${PREFIX}${version}/${file}`)
      },
    })
    await scope.register(fastifyStatic, {
      ...shared,
      prefix: `${PREFIX}${version}/`,
      allowedPath: (path) => files.includes(basename(path)),
      immutable: true,
      maxAge: '365d',
    })
    redirectOtherVersions(scope, files)
  })
}

/** Contains a hash of the content: builds of one release can differ, and browsers never revalidate a version. */
async function versionOf(root: string): Promise<string> {
  const [library, manifest] = await Promise.all([
    readFile(join(root, LIBRARY)),
    readFile(join(root, '../../package.json'), 'utf8'),
  ])
  const { version } = Manifest.parse(JSON.parse(manifest))
  return `${version}-${createHash('sha256').update(library).digest('hex').slice(0, 12)}`
}

/** Redirects to the current version: pages request that of another master during a rolling update and after it. */
function redirectOtherVersions(scope: FastifyInstance, files: readonly string[]): void {
  scope.get<{ Params: { file: string } }>(`${PREFIX}:version/:file`, async ({ params }, reply) => {
    if (!files.includes(params.file)) return reply.callNotFound()
    return reply.header('cache-control', 'no-cache').redirect(`${PREFIX}${params.file}`, 302)
  })
}

/** Corrects the headers of the static handler, which takes `.ts` for a video stream. */
function describeFiles(scope: FastifyInstance): void {
  scope.addHook('onSend', async ({ url }, reply: FastifyReply) => {
    void reply.header('access-control-allow-origin', '*')
    if (reply.statusCode !== 200) return
    const [path = ''] = url.split('?')
    if (path.endsWith('.d.ts')) void reply.header('content-type', 'application/typescript; charset=utf-8')
    if (path.endsWith(`/${LIBRARY}`)) void reply.header('x-typescript-types', './session-client.d.ts')
  })
}
