import type { FastifyInstance, FastifyReply } from 'fastify'
import { z } from 'zod'
import { RecordingId, SessionName } from './ids.js'
import { ApiError, type ServiceApi, refused } from './service-api.js'

/** The service answers when the first bytes are on disk. */
const START_TIMEOUT_MS = 30_000
/** Files of the service that need the secret; files at other URLs do not. */
const FILES = '/service/recordings/'
/** The response headers that a player needs. */
const FORWARDED_HEADERS = [
  'content-type',
  'content-length',
  'content-range',
  'accept-ranges',
  'content-disposition',
  'etag',
]

const DISABLED = 501
/** Expected answers that are forwarded to the page: no participant, a running recording, recording disabled. */
const FORWARDED_STATUSES = [404, 406, 409, DISABLED]

const SessionBody = z.object({ session: SessionName })
const Recording = z.object({
  id: RecordingId,
  sessionId: z.string(),
  status: z.string(),
  createdAt: z.number(),
  duration: z.number(),
  size: z.number(),
  url: z.string().nullable(),
})
type Recording = z.infer<typeof Recording>
const Recordings = z.object({ items: z.array(Recording) })

/** The recording for the page, with a link to this server instead of one that needs the secret. */
const viewOf = ({ id, status, createdAt, duration, size, url }: Recording): object => ({
  id,
  status,
  createdAt,
  duration,
  size,
  ...(url !== null && { href: `/recordings/${encodeURIComponent(id)}` }),
})

/** Lets every visitor start and stop recordings; a real application would check permissions. */
export function recordingRoutes(app: FastifyInstance, service: ServiceApi): void {
  const sessionOf = (value: unknown): string => {
    const request = SessionBody.safeParse(value ?? {})
    if (!request.success) throw new ApiError(400, `session: ${request.error.issues[0]?.message ?? 'is invalid'}`)
    return request.data.session
  }
  const all = async (): Promise<Recording[]> => {
    const answer = await service.call('GET', '/recordings')
    // Recording is disabled: the list is empty, and an attempt to record gets the reason.
    if (answer.status === DISABLED) return []
    return Recordings.parse(await (await accepted(answer)).json()).items
  }
  const of = async (session: string): Promise<Recording[]> =>
    (await all()).filter(({ sessionId }) => sessionId === session)

  app.get('/api/recordings', async ({ query }) => {
    const found = await of(sessionOf(query))
    return { recordings: found.toSorted((one, other) => other.createdAt - one.createdAt).map(viewOf) }
  })
  app.post('/api/recordings/start', async ({ body }) => {
    const started = await accepted(
      service.call('POST', '/recordings/start', { session: sessionOf(body) }, START_TIMEOUT_MS),
    )
    return viewOf(Recording.parse(await started.json()))
  })
  app.post('/api/recordings/stop', async ({ body }) => {
    const running = (await of(sessionOf(body))).find(({ status }) => status === 'started')
    if (!running) throw new ApiError(404, 'Nothing is being recorded.')
    const path = `/recordings/stop/${encodeURIComponent(running.id)}`
    return viewOf(Recording.parse(await (await accepted(service.call('POST', path, {}, START_TIMEOUT_MS))).json()))
  })
  app.get<{ Params: { id: string } }>('/recordings/:id', async ({ params, headers }, reply) => {
    const id = RecordingId.safeParse(params.id)
    // `..` would request another path of the service with this server's credentials.
    if (!id.success) throw new ApiError(404, 'There is no such recording.')
    const path = `/recordings/${encodeURIComponent(id.data)}`
    const { url } = Recording.parse(await (await accepted(service.call('GET', path))).json())
    if (url === null) throw new ApiError(404, 'This recording is not ready.')
    const { pathname } = new URL(url)
    if (!pathname.startsWith(FILES)) return reply.redirect(url)
    return pass(await service.file(pathname, headers.range), reply)
  })
}

async function accepted(answering: Response | Promise<Response>): Promise<Response> {
  const answer = await answering
  if (answer.ok) return answer
  throw await refused(answer, FORWARDED_STATUSES)
}

function pass(answer: Response, reply: FastifyReply): FastifyReply {
  for (const name of FORWARDED_HEADERS) {
    const value = answer.headers.get(name)
    if (value !== null) void reply.header(name, value)
  }
  // A browser that opens the file directly generates a page for it.
  void reply.header('content-security-policy', "default-src 'none'; media-src 'self'; style-src 'unsafe-inline'")
  return reply.status(answer.status).send(answer.body)
}
