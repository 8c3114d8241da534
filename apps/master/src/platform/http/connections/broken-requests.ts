import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { errorView } from '../answers/errors.js'
import { PROTECTIVE_HEADERS } from '../answers/response-headers.js'
import { isAnswered } from './unread-bodies.js'

/** Time that the client has to read the answer, ms. */
const LINGER_MS = 1_000

const REASONS: Readonly<Record<string, readonly [status: number, message: string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'the headers are too large'],
  HPE_CHUNK_EXTENSIONS_OVERFLOW: [413, 'the chunk extensions are too large'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
}

/** Answers input that is not HTTP, or too large or too slow to become a request, and ends the connection. */
export function answerBrokenRequest(error: Error & { code?: string }, socket: Socket): void {
  // A socket that is not writable has been answered before.
  if (error.code === 'ECONNRESET' || socket.destroyed || !socket.writable) return
  // The error is about the rest of a rejected body: the client has its answer.
  if (isAnswered(socket)) return void socket.destroy()
  const [status, message] = REASONS[error.code ?? ''] ?? [400, 'the request is not valid HTTP']
  const body = JSON.stringify(errorView(status, message, ''))
  const head = [
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}`,
    'content-type: application/json; charset=utf-8',
    `content-length: ${Buffer.byteLength(body)}`,
    `x-request-id: ${randomUUID()}`,
    ...Object.entries(PROTECTIVE_HEADERS).map(([name, value]) => `${name}: ${value}`),
    'connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
  // Closing while data still arrives resets the connection, and the client loses the answer.
  setTimeout(() => socket.destroy(), LINGER_MS).unref()
}
