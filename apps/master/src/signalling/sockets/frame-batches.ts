import type { Duplex } from 'node:stream'

type Stream = Pick<Duplex, 'cork' | 'uncork' | 'writableLength'>

/** A stream with more unwritten bytes is written at once. */
const MOST_WAITING_BYTES = 64 * 1024

/** Streams whose frames of this turn wait. */
const waiting = new Set<Stream>()

/**
 * Lets the frames that a stream gets until the end of this turn of the event loop wait, and then writes them with one
 * call of the system: in a crowd, each client is notified of many others in one turn.
 */
export function writeTogether(stream: Stream): void {
  if (waiting.has(stream)) {
    if (stream.writableLength > MOST_WAITING_BYTES) flush(stream)
    return
  }
  if (waiting.size === 0) process.nextTick(flushAll)
  waiting.add(stream)
  stream.cork()
}

function flush(stream: Stream): void {
  waiting.delete(stream)
  stream.uncork()
}

function flushAll(): void {
  for (const stream of waiting) flush(stream)
}
