import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { Readable } from 'node:stream'
import { finished } from 'node:stream/promises'
import type { FastifyInstance, FastifyRequest } from 'fastify'

/** Time-outs while the rest of a body is discarded, ms: without data, and in total. */
const IDLE_MS = 2_000
const TOTAL_MS = 20_000

/** Sockets on which a request was answered while its body still arrives. */
const answered = new WeakSet<Socket>()

/** Whether the last answer was written to the socket, so that nothing may follow. */
export const isAnswered = (socket: Socket): boolean => answered.has(socket)

function hasBody({ headers }: FastifyRequest): boolean {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = headers
  return encoding !== undefined || length !== '0'
}

/**
 * When an answer precedes the end of the body (too large, no credentials), reads and discards the rest before the
 * connection closes. Closing with unread data would reset it: a client that is still sending would get EPIPE or
 * ECONNRESET, and lose the answer.
 */
export function discardUnreadBodies(fastify: FastifyInstance): void {
  fastify.addHook('onSend', (request, reply, payload, done) => {
    if (request.raw.complete || request.raw.destroyed || !hasBody(request)) return done()
    void reply.header('connection', 'close')
    if (typeof payload !== 'string' && !Buffer.isBuffer(payload)) return done()
    const answer = Buffer.from(payload)
    // With the length the client knows the end of the answer; the end of the stream closes the connection.
    void reply.header('content-length', answer.length)
    answered.add(request.raw.socket)
    return done(null, Readable.from(thenDiscard(answer, request.raw), { objectMode: false }))
  })
}

async function* thenDiscard(answer: Buffer, request: IncomingMessage): AsyncGenerator<Buffer> {
  yield answer
  await discard(request)
}

async function discard(request: IncomingMessage): Promise<void> {
  const timeout = new AbortController()
  const [idle, total] = [IDLE_MS, TOTAL_MS].map((ms) => setTimeout(() => timeout.abort(), ms))
  request.on('data', () => idle?.refresh()).resume()
  // Rejects when the client disconnects.
  await finished(request, { signal: timeout.signal }).catch(() => undefined)
  clearTimeout(idle)
  clearTimeout(total)
}
