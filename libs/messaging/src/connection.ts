import { setTimeout as pause } from 'node:timers/promises'
import { connect, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node'
import { type BusRole, ServiceError } from '@session-service/contract'
import { messageOf, type OnProblem } from './problem.js'

export interface ConnectOptions {
  /** One URL or several, comma-separated: `nats://[user:password@]host:port`, `tls://…`. */
  servers: string
  /** Shown in the server's list of clients. */
  name: string
  /** Processes of another cluster on the same server send and receive nothing here; DEFAULT_BUS_CLUSTER. */
  cluster?: string | undefined
  /** Where replies arrive; that of a master. */
  role?: BusRole
  /** How often a silent server is asked for a sign of life, ms; after two unanswered it counts as gone. */
  pingIntervalMs?: number
  /** Ends the wait for the first connection. */
  signal?: AbortSignal
  onProblem?: OnProblem
}

const DIAL_TIMEOUT_MS = 2_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 2_000
/** A bus that stays away is worth a line now and then, not one a second. */
const REPORT_EVERY = 15

function parseServers(servers: string): Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'tls'> {
  const urls = servers.split(',').map((server) => {
    const text = server.trim()
    const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
    if (!url?.hostname) throw new ServiceError('INVALID', 'the bus address is no URL of the form nats://host:port')
    return url
  })
  const { username = '', password = '' } = urls.find((url) => url.username !== '') ?? {}
  return {
    servers: urls.map(({ hostname, port }) => `${hostname}:${port || '4222'}`),
    ...(urls.some(({ protocol }) => protocol === 'tls:') && { tls: {} }),
    ...(username && !password && { token: decodeURIComponent(username) }),
    ...(username && password && { user: decodeURIComponent(username), pass: decodeURIComponent(password) }),
  }
}

/**
 * Tries until the bus is there; the connection it gives never stops reconnecting.
 * @throws ServiceError INVALID for an address that is no URL; the signal's reason when it aborts
 */
export async function openConnection(options: ConnectOptions & { onProblem: OnProblem }): Promise<NatsConnection> {
  const { name, pingIntervalMs = 2_000, signal, onProblem } = options
  const address = parseServers(options.servers)
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted()
    try {
      return await connect({
        ...address,
        name,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: FIRST_PAUSE_MS,
        reconnectJitter: FIRST_PAUSE_MS,
        pingInterval: pingIntervalMs,
        maxPingOut: 2,
        timeout: DIAL_TIMEOUT_MS,
        noAsyncTraces: true,
      })
    } catch (error) {
      if (attempt % REPORT_EVERY === 0)
        onProblem({ kind: 'connection', message: `cannot reach the bus yet: ${messageOf(error)}`, error })
    }
    const wait = Math.min(FIRST_PAUSE_MS * 2 ** Math.min(attempt, 8), LONGEST_PAUSE_MS)
    await pause(wait * (0.5 + Math.random() / 2), undefined, { signal })
  }
}
