import type { Duplex } from 'node:stream'

/** Answers and closes the stream, because the timeouts of the HTTP server do not apply to an upgrade. */
export function refuseUpgrade(stream: Duplex, status: string, headers: readonly string[] = []): void {
  stream.once('finish', () => stream.destroy())
  const lines = [`HTTP/1.1 ${status}`, 'Connection: close', 'Content-Length: 0', ...headers]
  stream.end(`${lines.join('\r\n')}\r\n\r\n`)
}
