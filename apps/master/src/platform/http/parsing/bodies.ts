import { ServiceError } from '@session-service/contract'
import { UnsupportedMediaTypeException } from '@nestjs/common'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { sendError } from '../answers/errors.js'
import { isDeeper, MAX_NESTING } from './json-depth.js'

/** Far deeper than any body of the contract. */
const UTF8 = new TextDecoder('utf-8', { fatal: true })

type Done = (error: Error | null, body?: unknown) => void

const invalid = (message: string): ServiceError => new ServiceError('INVALID', message)

/**
 * Accepts the same bodies on all routes: a JSON object sent as `application/json`, in UTF-8, without compression. The
 * type of an empty body does not matter: some clients send the type of a form with it.
 */
export function readBodies(fastify: FastifyInstance): void {
  // No member of the contract has these names: they are dropped like others that are not known.
  const parse = fastify.getDefaultJsonParser('remove', 'remove')
  fastify.removeAllContentTypeParsers()
  fastify.addContentTypeParser<Buffer>('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    if (isEncoded(request))
      return done(new UnsupportedMediaTypeException('Content-Encoding: a body may not be compressed'))
    if (isDeeper(body, MAX_NESTING)) return done(invalid(`the body is nested deeper than ${MAX_NESTING}`))
    const text = textOf(body)
    if (text === undefined) return done(invalid('the body is not UTF-8'))
    // The parser's own message is not used, because it repeats a part of the body.
    return void parse(request, text, (error, value) => takeObject(error, value, done))
  })
  fastify.addContentTypeParser<Buffer>('*', { parseAs: 'buffer' }, (_request, body, done) => {
    if (body.length === 0) return done(null, undefined)
    return done(new UnsupportedMediaTypeException('Content-Type: a body must be sent as application/json'))
  })
}

/** Rejects other transfer codings: Node's parser accepts `gzip, chunked` and leaves the content compressed. */
export function refuseTransferCodings(fastify: FastifyInstance): void {
  fastify.addHook('onRequest', (request, reply, done) => {
    const coding = request.headers['transfer-encoding']?.toLowerCase()
    if (coding === undefined || coding === 'chunked') return done()
    return void sendError(request, reply, 501, 'Transfer-Encoding: only chunked is implemented')
  })
}

function takeObject(error: Error | null, value: unknown, done: Done): void {
  if (error) return done(invalid('the body is not valid JSON'))
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return done(invalid('the body must be a JSON object'))
  return done(null, value)
}

function isEncoded({ headers }: FastifyRequest): boolean {
  const encoding = headers['content-encoding']
  return encoding !== undefined && encoding.toLowerCase() !== 'identity'
}

function textOf(body: Buffer): string | undefined {
  try {
    return UTF8.decode(body)
  } catch {
    return undefined
  }
}
