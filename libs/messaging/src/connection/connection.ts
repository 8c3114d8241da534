import { connect, type ConnectionOptions, type NatsConnection } from '@nats-io/transport-node'
import { type BusRole, ServiceError } from '@session-service/contract'
import { backoffMs, messageOf, sleep } from '@session-service/server-kit/async'
import type { OnProblem } from './problem.js'

export interface ConnectOptions {
  /** One URL or several, comma-separated: `nats://[user:password@]host:port`, `tls://…`. */
  servers: string
  /** Shown in the server's list of clients. */
  name: string
  /** Isolates clusters that share a bus server; DEFAULT_BUS_CLUSTER by default. */
  cluster?: string | undefined
  /** Selects the inbox of replies; `master` by default. */
  role?: BusRole
  /** Interval of pings to the server, ms; after two unanswered pings the connection counts as lost. */
  pingIntervalMs?: number
  /** Aborts the wait for the first connection. */
  signal?: AbortSignal
  onProblem?: OnProblem
}

const DIAL_TIMEOUT_MS = 2_000
const BACKOFF = { firstMs: 250, longestMs: 2_000 }
/** Reports every 15th failed attempt: an outage must not fill the log. */
const REPORT_EVERY = 15

function parseServers(servers: string): Pick<ConnectionOptions, 'servers' | 'user' | 'pass' | 'token' | 'tls'> {
  const urls = servers.split(',').map((server) => {
    const text = server.trim()
    const url = URL.parse(text.includes('://') ? text : `nats://${text}`)
    if (!url?.hostname) throw new ServiceError('INVALID', 'the bus address is not a URL of the form nats://host:port')
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
 * Retries until the bus can be reached; the connection reconnects without a limit.
 * @throws ServiceError INVALID for an address that is not a URL; the reason of the signal when it is aborted
 */
export async function openConnection(options: ConnectOptions & { onProblem: OnProblem }): Promise<NatsConnection> {
  const { name, signal, onProblem } = options
  const address = parseServers(options.servers)
  for (let attempt = 0; ; attempt += 1) {
    signal?.throwIfAborted()
    try {
      return await connect({
        ...address,
        name,
        maxReconnectAttempts: -1,
        ignoreAuthErrorAbort: true,
        reconnectTimeWait: BACKOFF.firstMs,
        reconnectJitter: BACKOFF.firstMs,
        timeout: DIAL_TIMEOUT_MS,
        noAsyncTraces: true,
      })
    } catch (error) {
      if (attempt % REPORT_EVERY === 0)
        onProblem({
          kind: 'connection',
          message: `connecting to the bus failed, will retry: ${messageOf(error)}`,
          error,
        })
    }
    await sleep(backoffMs(attempt + 1, BACKOFF), signal)
  }
}
