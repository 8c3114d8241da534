import { RECORDING_GONE_HEADER, ServiceError } from '@session-service/contract'
import type { HttpErrorFilter } from '@session-service/server-kit'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { sendError } from '../../platform/http/answers/errors.js'
import { contentRange } from './byte-range.js'
import type { PartUploads, UploadState, UploadTarget } from './part-uploads.js'
import type { UploadTokens } from './upload-token.js'

/** Needs no credentials of the service: the token of the part grants access. */
export const UPLOAD_ADDRESS = /^\/service\/internal\/recordings\//

interface Route {
  Params: { id: string; part: string; file: string }
}

interface Dependencies {
  uploads: PartUploads
  tokens: UploadTokens
  errors: HttpErrorFilter
}

/** Routes uploads of media nodes; `RecordingDelivery` in the contract documents the protocol. */
export async function takeUploads(fastify: FastifyInstance, { uploads, tokens, errors }: Dependencies): Promise<void> {
  await fastify.register(async (scope) => {
    scope.setErrorHandler((error, request, reply) => {
      if (error instanceof ServiceError && error.code === 'NOT_FOUND') void reply.header(RECORDING_GONE_HEADER, 'true')
      return errors.answer(error, request, reply)
    })
    // Bodies are streamed to the disk, with any type and length.
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    scope.addHook<Route>('onRequest', async (request, reply) => {
      if (tokens.isValid(request.headers.authorization, targetOf(request))) return undefined
      return sendError(request, reply, 401, 'the Authorization header is missing or wrong')
    })
    const url = '/service/internal/recordings/:id/:part/:file'
    scope.head<Route>(url, async (request, reply) =>
      withOffset(reply.code(200), await uploads.state(targetOf(request))).send(),
    )
    scope.put<Route>(url, (request, reply) => take(uploads, request, reply))
  })
}

async function take(uploads: PartUploads, request: FastifyRequest<Route>, reply: FastifyReply): Promise<FastifyReply> {
  const target = targetOf(request)
  const sent = contentRange(request.headers['content-range'])
  if (!sent) throw new ServiceError('INVALID', 'Content-Range: must be bytes <from>-<to>/<size>')
  try {
    return await withOffset(reply.code(204), await uploads.take(target, sent, request.raw)).send()
  } catch (error) {
    // The rest of the body is not read: the connection closes after the answer.
    void reply.header('connection', 'close')
    if (error instanceof ServiceError && error.code === 'CONFLICT') withOffset(reply, await uploads.state(target))
    throw error
  }
}

const targetOf = ({ params: { id, part, file } }: FastifyRequest<Route>): UploadTarget => ({
  recordingId: id,
  // Only one spelling of a part is valid, neither `1e0` nor ` 1`.
  part: /^[1-9]\d{0,8}$/.test(part) ? Number(part) : 0,
  file,
})

const withOffset = (reply: FastifyReply, { offset }: UploadState): FastifyReply =>
  reply.header('upload-offset', String(offset))
