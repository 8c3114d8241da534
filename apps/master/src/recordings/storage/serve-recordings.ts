import { extname } from 'node:path'
import { ServiceError } from '@session-service/contract'
import type { HttpErrorFilter } from '@session-service/server-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../../platform/http/errors.js'
import { askedRange, type ByteRange } from './byte-range.js'
import { type FinishedFile, openFinished } from './open-finished.js'
import type { RecordingFolders } from '../muxing/recording-folders.js'

/** What is served, and whether browsers show it or keep it. Whatever else lies in the folder is nobody's business. */
const KINDS: Readonly<Record<string, { type: string; disposition: 'inline' | 'attachment' }>> = {
  '.mp4': { type: 'video/mp4', disposition: 'inline' },
  '.webm': { type: 'video/webm', disposition: 'inline' },
  '.jpg': { type: 'image/jpeg', disposition: 'inline' },
  '.zip': { type: 'application/zip', disposition: 'attachment' },
}

/** The address of a recording's file, spelled as recordings' urls are. */
export const RECORDING_ADDRESS = /^\/service\/recordings\/(?:[\w~-]|%7e)+\/(?:[\w~-]|%7e)+\.[a-z0-9]+(?:\?|$)/i

interface Served {
  folders: RecordingFolders
  errors: HttpErrorFilter
}

/** GET and HEAD of finished recordings, whichever master made them. Who may is decided before. */
export async function serveRecordings(fastify: FastifyInstance, { folders, errors }: Served): Promise<void> {
  await fastify.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => errors.answer(error, request, reply))
    scope.route<{ Params: { id: string; file: string } }>({
      method: ['GET', 'HEAD'],
      url: '/service/recordings/:id/:file',
      handler: async (request, reply) => {
        const { id, file } = request.params
        const kind = KINDS[extname(file)]
        const found = kind && (await openFinished(folders, id, file))
        if (!found)
          throw new ServiceError('NOT_FOUND', 'there is no such file of a recording', { subject: 'recording' })
        // A link to it may be opened anywhere; what it holds is media and never a page.
        void reply
          .type(kind.type)
          .header('content-disposition', `${kind.disposition}; filename="${file}"`)
          .header('x-content-type-options', 'nosniff')
        return answer(request, reply, found)
      },
    })
  })
}

async function answer(request: FastifyRequest, reply: FastifyReply, found: FinishedFile): Promise<FastifyReply> {
  const { handle, size, modifiedAt } = found
  const etag = `"${modifiedAt.getTime().toString(36)}-${size.toString(36)}"`
  void reply
    .header('accept-ranges', 'bytes')
    .header('etag', etag)
    .header('last-modified', modifiedAt.toUTCString())
    // A deleted recording's id is used again: the same address may be another recording's.
    .header('cache-control', 'no-cache')
  if (isKnown(request, etag, modifiedAt)) return finish(handle, reply.code(304).send())
  const range = isRangeMeant(request, etag, modifiedAt) ? askedRange(request.headers.range, size) : undefined
  if (range === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${size}`).type('application/json').removeHeader('content-disposition')
    return finish(handle, sendError(request, reply, 416, `the file has ${size} bytes and not the asked range`))
  }
  if (range) void reply.code(206).header('content-range', `bytes ${range.from}-${range.to}/${size}`)
  void reply.header('content-length', range ? range.to - range.from + 1 : size)
  if (request.method === 'HEAD' || size === 0) return finish(handle, reply.send())
  return reply.send(handle.createReadStream(bytesOf(range)))
}

/** Whether the client has it as it is. */
function isKnown({ headers }: FastifyRequest, etag: string, modifiedAt: Date): boolean {
  const { 'if-none-match': known, 'if-modified-since': since } = headers
  if (known !== undefined) return known.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()))
  // Dates are in whole seconds; what is no date is before nothing.
  return since !== undefined && Math.floor(modifiedAt.getTime() / 1_000) <= Date.parse(since) / 1_000
}

/** Not of a file that has changed since the client had the rest of it; and of HEAD a range means nothing. */
function isRangeMeant({ method, headers }: FastifyRequest, etag: string, modifiedAt: Date): boolean {
  const condition = headers['if-range']
  return method === 'GET' && (condition === undefined || condition === etag || condition === modifiedAt.toUTCString())
}

const bytesOf = (range: ByteRange | undefined): object => (range ? { start: range.from, end: range.to } : {})

async function finish(handle: FinishedFile['handle'], reply: FastifyReply): Promise<FastifyReply> {
  await handle.close()
  return reply
}
