import { ServiceError } from '@session-service/contract'
import { Logger } from '@nestjs/common'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Answer, IdempotentCalls } from './idempotent-calls.service.js'

const HEADER = 'idempotency-key'
/** Current and deprecated paths. */
const API = /^\/(service\/)?api\//
/** Visible ASCII, so that every proxy hands it on as it is. */
const KEY = /^[\x21-\x7e]{1,255}$/
/** Most calls are answered by then. */
const RETRY_AFTER_S = 1

/**
 * A POST that bears an `Idempotency-Key` is done once however often it is sent, and answered as the first time. What was
 * refused has changed nothing: it is not kept, and may be sent again under the same key.
 */
export function answerRepeats(fastify: FastifyInstance, calls: IdempotentCalls): void {
  const logger = new Logger('Idempotency')
  const ours = new WeakMap<FastifyRequest, { key: string; claim: string }>()
  fastify.addHook('preHandler', async (request, reply) => {
    const key = keyOf(request)
    if (key === undefined) return undefined
    const claim = await calls.claim(key, JSON.stringify([request.url, request.body ?? null]))
    if (claim.is === 'answered') return replay(reply, claim.answer)
    if (claim.is === 'ours') ours.set(request, { key, claim: claim.claim })
    else refuse(claim.is, reply)
    return undefined
  })
  fastify.addHook('onSend', async (request, reply, payload) => {
    const call = ours.get(request)
    if (!call) return payload
    ours.delete(request)
    // Whatever becomes of it, the call itself was done, and its answer is due.
    await calls
      .settle({ ...call, answer: answerOf(reply, payload) })
      .catch((error: unknown) =>
        logger.warn(
          { err: error, requestId: request.id },
          'what became of a call is kept later, for when it is repeated',
        ),
      )
    return payload
  })
}

function keyOf({ method, routeOptions, headers }: FastifyRequest): string | undefined {
  const key = headers[HEADER]
  if (key === undefined || method !== 'POST' || !API.test(routeOptions.url ?? '')) return undefined
  if (typeof key === 'string' && KEY.test(key)) return key
  throw new ServiceError('INVALID', 'Idempotency-Key must have 1 to 255 visible ASCII characters')
}

function refuse(why: 'underWay' | 'different', reply: FastifyReply): never {
  if (why === 'different')
    throw new ServiceError('OUT_OF_RANGE', 'the Idempotency-Key was used for another request already')
  void reply.header('retry-after', String(RETRY_AFTER_S))
  throw new ServiceError('CONFLICT', 'a request with this Idempotency-Key is under way')
}

function replay(reply: FastifyReply, { status, type, body }: Answer): FastifyReply {
  void reply.code(status).header('idempotent-replayed', 'true')
  if (type !== null) void reply.header('content-type', type)
  return reply.send(body === '' ? undefined : body)
}

/** Undefined for what is no success. */
function answerOf(reply: FastifyReply, payload: unknown): Answer | undefined {
  if (reply.statusCode >= 300) return undefined
  const type = reply.getHeader('content-type')
  return {
    status: reply.statusCode,
    type: typeof type === 'string' ? type : null,
    body: typeof payload === 'string' ? payload : '',
  }
}
