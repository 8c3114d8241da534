import type { Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { Logger } from '@nestjs/common'
import type { FastifyInstance } from 'fastify'

/** Time-outs of connections while their server closes, ms. */
export interface ClosingLimits {
  /** Time limit for a connection without a request. */
  unusedMs: number
  /** Time limit for a client that neither sends the rest of its request nor reads its answer. */
  stalledMs: number
  /** Time limit for all connections, also those whose request is in progress. */
  totalMs: number
}

/** The total is less than the time-outs of a shutdown and of a restart, 30 s. */
const LIMITS: ClosingLimits = { unusedMs: 500, stalledMs: 5_000, totalMs: 20_000 }
const TICK_MS = 100

/**
 * Ends connections while the server closes. Node itself would wait without a limit for connections that browsers and
 * load balancers opened in advance, and for clients that stall; and it would cut answers that it has not sent completely.
 */
export function closeConnections(fastify: FastifyInstance, limits = LIMITS): void {
  /** With the answer to the latest request. */
  const open = new Map<Socket, ServerResponse | undefined>()
  fastify.server.on('connection', (socket) => {
    open.set(socket, undefined)
    socket.once('close', () => open.delete(socket))
  })
  fastify.addHook('onRequest', ({ raw: { socket } }, reply, done) => {
    if (open.has(socket)) open.set(socket, reply.raw)
    done()
  })
  // Node calls it when the server closes.
  fastify.server.closeIdleConnections = () => {
    for (const [socket, answer] of open) if (answer && isIdle(socket, answer)) socket.destroy()
  }
  fastify.addHook('preClose', (done) => {
    closeStalled(fastify.server, open, limits)
    done()
  })
}

function closeStalled(
  server: Server,
  open: ReadonlyMap<Socket, ServerResponse | undefined>,
  { unusedMs, stalledMs, totalMs }: ClosingLimits,
): void {
  const startedAt = performance.now()
  const progress = new Map<Socket, { bytes: number; at: number }>()
  const timer = setInterval(() => {
    if (open.size === 0 && !server.listening) return clearInterval(timer)
    server.closeIdleConnections()
    const now = performance.now()
    const isOver = now - startedAt >= totalMs
    if (isOver && open.size > 0) new Logger('Http').warn(`closing ${open.size} connections after ${totalMs} ms`)
    for (const [socket, answer] of open) {
      const bytes = socket.bytesRead + socket.bytesWritten - socket.writableLength
      const last = progress.get(socket)
      const limitMs = socket.bytesRead === 0 ? unusedMs : stalledMs
      if (isOver) socket.destroy()
      else if (last?.bytes !== bytes || isInProgress(socket, answer)) progress.set(socket, { bytes, at: now })
      else if (now - last.at >= limitMs) socket.destroy()
    }
  }, TICK_MS)
}

/** Whether the request has been received, and its answer sent. */
const isIdle = (socket: Socket, { req, writableFinished }: ServerResponse): boolean =>
  req.complete && writableFinished && socket.writableLength === 0

/** Whether the server has the whole request, and the client has read what was written of the answer. */
const isInProgress = (socket: Socket, answer: ServerResponse | undefined): boolean =>
  answer !== undefined && answer.req.complete && !answer.writableEnded && socket.writableLength === 0
