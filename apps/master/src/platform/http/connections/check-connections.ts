import type { Server } from 'node:http'

/** Node's listener that starts the periodic check of all connections, and restarts it with the present interval. */
const START_CHECKS = 'setupConnectionsTracking'
/** The longest interval of a timer, ms. */
const NEVER_MS = 2 ** 31 - 1

/** Not in the types of Node. */
type CheckedServer = Server & { connectionsCheckingInterval?: number }

/**
 * Node checks periodically whether connections have exceeded their time-outs, also while there are none. Stops the checks
 * while there are none, so that they do not wake up an idle master. Without effect in a version of Node that starts its
 * checks in another way.
 */
export function checkConnectionsOnlyWhileOpen(server: CheckedServer): void {
  const startChecks = server.listeners('listening').find(({ name }) => name === START_CHECKS)
  const everyMs = server.connectionsCheckingInterval
  if (!startChecks || everyMs === undefined) return
  const check = (intervalMs: number): void => {
    server.connectionsCheckingInterval = intervalMs
    // A server that no longer listens has ended its checks.
    if (server.listening) startChecks.call(server)
  }
  let open = 0
  check(NEVER_MS)
  server.on('connection', (socket) => {
    if (open++ === 0) check(everyMs)
    socket.once('close', () => --open === 0 && check(NEVER_MS))
  })
}
