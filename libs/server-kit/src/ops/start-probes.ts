import { createServer } from 'node:http'
import { listenOnPrivilegedPort } from '../run-as/index.js'

export interface StartProbes {
  /** Idempotent. */
  close(): Promise<void>
}

/**
 * Serves /healthz and /readyz while a process waits for other servers before its application exists: it is alive and
 * not ready. A busy port is left to the application, which reports it.
 */
export async function serveStartProbes({ host, port }: { host: string; port: number }): Promise<StartProbes> {
  const server = createServer((request, response) => {
    const isAlive = request.url === '/healthz'
    const body = isAlive ? { status: 'ok' } : { status: 'not ready', failing: ['start'] }
    response.writeHead(isAlive ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    response.end(JSON.stringify(body))
  })
  if (port === 0) return { close: () => Promise.resolve() }
  listenOnPrivilegedPort(server, { host, port })
  await new Promise<void>((resolve) => {
    server.once('error', () => resolve())
    server.listen(port, host, resolve)
  })
  return {
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}
