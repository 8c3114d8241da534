import { ServiceError } from '@session-service/contract'
import { Logger } from '@nestjs/common'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Credential } from '../../authentication/basic-credentials.js'
import type { Answer, IdempotentCalls } from './idempotent-calls.service.js'

const HEADER = 'idempotency-key'
/** Current and deprecated paths. */
const API = /^\/(service\/)?api\//
/** Visible ASCII, which proxies do not change. */
const KEY = /^[\x21-\x7e]{1,255}$/
const SERVICE_SECRETS = new Set(['SERVICE_SECRET', 'SERVICE_SECRET_PREVIOUS'])
/** Most calls are answered within this time, s. */
const RETRY_AFTER_S = 1

/**
 * Carries out a POST with an `Idempotency-Key` once, and replays its answer to retries. Only 2xx answers are stored: a
 * rejected call has had no effect, and may be retried with the same key.
 */
export function answerRetries(fastify: FastifyInstance, calls: IdempotentCalls): void {
  const logger = new Logger('Idempotency')
  const claimed = new WeakMap<FastifyRequest, { key: string; claim: string }>()
  /** Resolves with whether the call was answered before, and so is now. */
  const claimOrReplay = async (key: string, request: FastifyRequest, reply: FastifyReply): Promise<boolean> => {
    const claim = await calls.claim(key, JSON.stringify([request.url, request.body ?? null]))
    if (claim.state === 'answered') replay(reply, claim.answer)
    else if (claim.state === 'claimed') claimed.set(request, { key, claim: claim.claim })
    else reject(claim.state, reply)
    return claim.state === 'answered'
  }
  // Callbacks: most calls have no key, and need no promise.
  fastify.addHook('preHandler', (request, reply, done) => {
    const key = keyOf(request)
    if (key === undefined) return done()
    return void claimOrReplay(key, request, reply).then((isAnswered) => void (isAnswered || done()), done)
  })
  fastify.addHook('onSend', (request, reply, payload, done) => {
    const call = claimed.get(request)
    if (!call) return done()
    claimed.delete(request)
    // A failure here does not change the answer: the call was carried out.
    const stored = calls
      .store({ ...call, answer: answerOf(reply, payload) })
      .catch((error: unknown) =>
        logger.warn(
          { err: error, requestId: request.id },
          'storing the answer of an idempotent call failed, will retry',
        ),
      )
    return void stored.then(() => done())
  })
}

function keyOf({ method, routeOptions, headers, credential }: FastifyRequest): string | undefined {
  const key = headers[HEADER]
  if (key === undefined || method !== 'POST' || !API.test(routeOptions.url ?? '')) return undefined
  if (typeof key === 'string' && KEY.test(key)) return ownKey(credential, key)
  throw new ServiceError('INVALID', 'Idempotency-Key must have 1 to 255 visible ASCII characters')
}

/** Each credential has its own keys; both secrets of the service have the same, for retries across a rotation. */
const ownKey = (credential: Credential | null, key: string): string =>
  credential === null || SERVICE_SECRETS.has(credential.name) ? key : `${credential.name} ${key}`

function reject(state: 'inProgress' | 'different', reply: FastifyReply): never {
  if (state === 'different')
    throw new ServiceError('OUT_OF_RANGE', 'the Idempotency-Key was used for another request before')
  void reply.header('retry-after', String(RETRY_AFTER_S))
  throw new ServiceError('CONFLICT', 'a request with this Idempotency-Key is in progress')
}

function replay(reply: FastifyReply, { status, type, body }: Answer): void {
  void reply.code(status).header('idempotent-replayed', 'true')
  if (type !== null) void reply.header('content-type', type)
  void reply.send(body === '' ? undefined : body)
}

/** Only 2xx answers are stored. */
function answerOf(reply: FastifyReply, payload: unknown): Answer | undefined {
  if (reply.statusCode >= 300) return undefined
  const type = reply.getHeader('content-type')
  return {
    status: reply.statusCode,
    type: typeof type === 'string' ? type : null,
    body: typeof payload === 'string' ? payload : '',
  }
}
