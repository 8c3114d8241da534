import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** How long, ms, a client may be silent while the rest of its body is discarded, and how long that takes at most. */
const IDLE_MS = 2_000
const TOTAL_MS = 20_000

/** Sockets with an answer to a request whose body still arrives. */
const answered = new WeakSet<Socket>()

/** Whether nothing more may be written to the socket, because its last answer was. */
export const isAnswered = (socket: Socket): boolean => answered.has(socket)

export function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return encoding !== undefined || length !== '0'
}

/**
 * Where an answer comes before the end of the body (too large, no credentials), the rest is read and discarded before the
 * connection closes. To close with data unread would reset it: a client that is still sending would get EPIPE or
 * ECONNRESET, and lose the answer.
 */
export function discardUnreadBodies(fastify: FastifyInstance): void {
  fastify.addHook('onSend', async (request, reply, payload) => {
    if (request.raw.complete || request.raw.destroyed || !hasBody(request)) return payload
    void reply.header('connection', 'close')
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return payload
    const answer = Buffer.from(payload)
    // The client knows by the length that it has all of the answer; the end of the stream closes the connection.
    void reply.header('content-length', answer.length)
    answered.add(request.raw.socket)
    return Readable.from(thenDiscard(answer, request.raw), { objectMode: false })
  })
}

async function* thenDiscard(answer: Buffer, request: IncomingMessage): AsyncGenerator<Buffer> {
  yield answer
  await discard(request)
}

async function discard(request: IncomingMessage): Promise<void> {
  const ending = new AbortController()
  const [idle, total] = [IDLE_MS, TOTAL_MS].map((ms) => setTimeout(() => ending.abort(), ms))
  request.on('data', () => idle?.refresh()).resume()
  // It ends early when the client has gone.
  await finished(request, { signal: ending.signal }).catch(() => undefined)
  clearTimeout(idle)
  clearTimeout(total)
}
