import { readFileSync } from 'node:fs'
import type { Server as HttpServer } from 'node:http'
import { createServer, type Server, type Socket } from 'node:net'

export interface PortAddress {
  host: string
  port: number
}

/** Ports below this number need root, unless the kernel is configured otherwise. */
const FIRST_UNPRIVILEGED = 1_024

/** By `host:port`. */
const bound = new Map<string, PrivilegedPort>()
const keyOf = ({ host, port }: PortAddress): string => `${host}:${port}`

/**
 * A port that this process bound as root and cannot bind again afterwards. It stays bound while HTTP servers on it come
 * and go, as they do when a master restarts in place; connections that arrive in between are closed.
 */
class PrivilegedPort {
  #server: HttpServer | undefined
  readonly #sockets = new Set<Socket>()

  constructor(readonly listener: Server) {
    listener.on('connection', (socket) => this.#accept(socket))
    // Only a server on it keeps the process alive, as a listener of its own would.
    listener.unref()
  }

  isUsedBy(server: HttpServer): boolean {
    return this.#server === server
  }

  attach(server: HttpServer): void {
    this.#server = server
    this.listener.ref()
  }

  /** Resolves when the server's last connection has ended. */
  async detach(): Promise<void> {
    this.#server = undefined
    this.listener.unref()
    const open = [...this.#sockets].filter((socket) => !socket.destroyed)
    await Promise.all(open.map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  #accept(socket: Socket): void {
    if (!this.#server) {
      socket.destroy()
      return
    }
    this.#sockets.add(socket)
    socket.once('close', () => this.#sockets.delete(socket))
    this.#server.emit('connection', socket)
  }
}

/** Binds a port that needs root for the lifetime of the process; does nothing for any other port. */
export async function bindPrivilegedPort(address: PortAddress): Promise<void> {
  if (!needsRoot(address.port) || bound.has(keyOf(address))) return
  // The options that an HTTP server gives its own listener.
  const listener = createServer({ allowHalfOpen: true, noDelay: true })
  await new Promise<void>((resolve, reject) => {
    listener.once('error', (cause) =>
      reject(new Error(`cannot listen on ${keyOf(address)}: ${cause.message}`, { cause })),
    )
    listener.listen(address.port, address.host, resolve)
  })
  bound.set(keyOf(address), new PrivilegedPort(listener))
}

/** Checks whether only root can bind the port. */
export const needsRoot = (port: number): boolean => port !== 0 && port < firstUnprivileged()

function firstUnprivileged(): number {
  try {
    return Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))
  } catch {
    return FIRST_UNPRIVILEGED
  }
}

/** Makes the server listen on the port that was bound for its address, if any, instead of binding it itself. */
export function listenOnPrivilegedPort(server: HttpServer, address: PortAddress): void {
  const port = bound.get(keyOf(address))
  if (!port) return
  const close = server.close.bind(server)
  const listen = (...args: unknown[]): HttpServer => {
    const onListening = args.at(-1)
    if (typeof onListening === 'function') server.once('listening', onListening as () => void)
    port.attach(server)
    process.nextTick(() => server.emit('listening'))
    return server
  }
  server.listen = listen as HttpServer['listen']
  server.address = () => port.listener.address()
  Object.defineProperty(server, 'listening', { get: () => port.isUsedBy(server) })
  server.close = (onClosed) => {
    if (!port.isUsedBy(server)) return close(onClosed)
    const ended = port.detach()
    server.closeIdleConnections()
    // Without a listener of its own the server reports the error "not running", which is dropped here.
    void ended.then(() => close(() => onClosed?.()))
    return server
  }
}
