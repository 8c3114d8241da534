import { extname } from 'node:path'
import { ServiceError } from '@session-service/contract'
import type { HttpErrorFilter } from '@session-service/server-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../../platform/http/answers/errors.js'
import { requestedRange, type ByteRange } from './byte-range.js'
import { type OpenFile, openFinished } from './open-finished.js'
import type { RecordingFolders } from '../muxing/recording-folders.js'

/** The served types, and whether browsers show or save them. Other files in the folder are not served. */
const KINDS: Readonly<Record<string, { type: string; disposition: 'inline' | 'attachment' }>> = {
  '.mp4': { type: 'video/mp4', disposition: 'inline' },
  '.webm': { type: 'video/webm', disposition: 'inline' },
  '.jpg': { type: 'image/jpeg', disposition: 'inline' },
  '.vtt': { type: 'text/vtt; charset=utf-8', disposition: 'inline' },
  '.zip': { type: 'application/zip', disposition: 'attachment' },
}

/** The path of a file, in the spelling of the URLs of recordings. */
export const RECORDING_ADDRESS = /^\/service\/recordings\/(?:[\w~-]|%7e)+\/(?:[\w~-]|%7e)+\.[a-z0-9]+(?:\?|$)/i

interface Dependencies {
  folders: RecordingFolders
  errors: HttpErrorFilter
}

/** Routes GET and HEAD of finished recordings, also those that other masters made. Access is checked before. */
export async function serveRecordings(fastify: FastifyInstance, { folders, errors }: Dependencies): Promise<void> {
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
        // The URL may be opened anywhere: the content is media and must never be run as a page.
        void reply
          .type(kind.type)
          .header('content-disposition', `${kind.disposition}; filename="${file}"`)
          .header('x-content-type-options', 'nosniff')
        return answer(request, reply, found)
      },
    })
  })
}

async function answer(request: FastifyRequest, reply: FastifyReply, found: OpenFile): Promise<FastifyReply> {
  const { handle, size, modifiedAt } = found
  const etag = `"${modifiedAt.getTime().toString(36)}-${size.toString(36)}"`
  void reply
    .header('accept-ranges', 'bytes')
    .header('etag', etag)
    .header('last-modified', modifiedAt.toUTCString())
    // Ids of deleted recordings are reused: the same URL may become another recording's.
    .header('cache-control', 'no-cache')
  if (isUnmodified(request, etag, modifiedAt)) return finish(handle, reply.code(304).send())
  const range = isRangeValid(request, etag, modifiedAt) ? requestedRange(request.headers.range, size) : undefined
  if (range === 'unsatisfiable') {
    void reply.header('content-range', `bytes */${size}`).type('application/json').removeHeader('content-disposition')
    return finish(handle, sendError(request, reply, 416, `the file has ${size} bytes, and the range is outside of it`))
  }
  if (range) void reply.code(206).header('content-range', `bytes ${range.from}-${range.to}/${size}`)
  void reply.header('content-length', range ? range.to - range.from + 1 : size)
  if (request.method === 'HEAD' || size === 0) return finish(handle, reply.send())
  return reply.send(handle.createReadStream(bytesOf(range)))
}

/** True when the client has the current version. */
function isUnmodified({ headers }: FastifyRequest, etag: string, modifiedAt: Date): boolean {
  const { 'if-none-match': etags, 'if-modified-since': since } = headers
  if (etags !== undefined) return etags.split(',').some((each) => ['*', etag, `W/${etag}`].includes(each.trim()))
  // Dates have whole seconds. An invalid date compares as false.
  return since !== undefined && Math.floor(modifiedAt.getTime() / 1_000) <= Date.parse(since) / 1_000
}

/** A range applies only to GET, and only while the file is the version that the client has in part. */
function isRangeValid({ method, headers }: FastifyRequest, etag: string, modifiedAt: Date): boolean {
  const condition = headers['if-range']
  return method === 'GET' && (condition === undefined || condition === etag || condition === modifiedAt.toUTCString())
}

const bytesOf = (range: ByteRange | undefined): object => (range ? { start: range.from, end: range.to } : {})

async function finish(handle: OpenFile['handle'], reply: FastifyReply): Promise<FastifyReply> {
  await handle.close()
  return reply
}
