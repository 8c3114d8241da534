import { existsSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import Fastify, { type FastifyInstance } from 'fastify'
import { z } from 'zod'
import type { PlaygroundConfig } from './config.js'
import { isOwnName } from './host-names.js'
import { recordingRoutes } from './recordings.js'
import { ApiError, ServiceApi } from './service-api.js'
import { SessionName } from './ids.js'

const ConnectionBody = z.object({
  session: SessionName,
  nickname: z.string().trim().max(40, 'at most 40 characters').default(''),
  role: z.enum(['SUBSCRIBER', 'PUBLISHER', 'MODERATOR']).default('PUBLISHER'),
})

const HEADERS = {
  'content-security-policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "img-src 'self' data:",
    // The token contains the URL of the signalling socket, which may be on another host.
    "connect-src 'self' ws: wss:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
  ].join('; '),
  'permissions-policy': 'camera=(self), microphone=(self), display-capture=(self)',
  'referrer-policy': 'no-referrer',
  'x-content-type-options': 'nosniff',
}

interface AppOptions {
  /** The folder of the built page. */
  readonly publicDir?: string
  /** Called with errors that the caller did not cause. */
  readonly report?: (error: Error) => void
}

/** The playground server: keeps the secret, serves the page and issues tokens. */
export function buildApp(config: Omit<PlaygroundConfig, 'runAs'>, options: AppOptions = {}): FastifyInstance {
  const { publicDir = join(import.meta.dirname, '../public'), report = console.error } = options
  if (!existsSync(join(publicDir, 'page.js'))) throw new Error(`the page is not built: ${publicDir} has no page.js`)
  const service = new ServiceApi(config.serviceUrl, config.secret)
  const app = Fastify({ bodyLimit: 16_384, forceCloseConnections: true })

  app.addHook('onRequest', async ({ raw }) => {
    if (!isOwnName(raw, config.hostNames)) throw new ApiError(403, 'This server does not have that name.')
  })
  app.addHook('onSend', async (_, reply) => {
    for (const [name, value] of Object.entries(HEADERS)) if (!reply.hasHeader(name)) void reply.header(name, value)
  })
  app.setErrorHandler((error: Error & { statusCode?: number }, _, reply) => {
    const known = error instanceof ApiError ? error.status : error.statusCode
    if (known === undefined || known >= 500) report(error)
    void reply.status(known ?? 500).send({ message: known === undefined ? 'Something went wrong.' : error.message })
  })
  app.get('/healthz', () => ({ status: 'UP' }))
  app.post('/api/connection', async ({ body }) => {
    const request = ConnectionBody.safeParse(body ?? {})
    if (!request.success)
      throw new ApiError(
        400,
        request.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '),
      )
    const { session, nickname, role } = request.data
    return { token: await service.tokenFor({ session, role, data: JSON.stringify({ nickname }) }) }
  })
  app.get('/api/features', async () => ({ captions: await hasSpeechToText(service) }))
  recordingRoutes(app, service)
  void app.register(fastifyStatic, { root: publicDir, cacheControl: true, maxAge: 0 })
  return app
}

/** The answers of a service that is configured without speech to text, and of an edition without it. */
const WITHOUT_SPEECH = [501, 404]

/** Sends a load request without a language model, which is invalid where speech to text is enabled. */
async function hasSpeechToText(service: ServiceApi): Promise<boolean> {
  const { status } = await service.call('POST', '/speech-to-text/load', {})
  return !WITHOUT_SPEECH.includes(status)
}
