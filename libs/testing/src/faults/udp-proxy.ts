import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { ProxyTarget } from './tcp-proxy.js'

/** One client of the proxy, with its own socket to the target. */
interface Link {
  readonly socket: Socket
  readonly delayMs: number
}

/** A UDP proxy that delays each datagram, at the port of its target on another loopback address. */
export class UdpProxy implements AsyncDisposable {
  /** The delay in each direction, ms, for clients whose first datagram arrives from now on. */
  delayMs = 0
  readonly #listener: Socket
  readonly #links = new Map<string, Link>()

  private constructor(listener: Socket, target: ProxyTarget) {
    this.#listener = listener
    listener.on('message', (data, { address, port }) => {
      const { socket, delayMs } = this.#linkOf(address, port)
      after(delayMs, () => send(socket, data, target.port, target.host))
    })
  }

  static async open(target: ProxyTarget, host: string): Promise<UdpProxy> {
    const listener = createSocket('udp4').bind(target.port, host)
    await once(listener, 'listening')
    return new UdpProxy(listener, target)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const sockets = [this.#listener, ...[...this.#links.values()].map(({ socket }) => socket)]
    this.#links.clear()
    await Promise.all(sockets.map(async (socket) => (socket.close(), once(socket, 'close'))))
  }

  #linkOf(address: string, port: number): Link {
    const key = `${address}:${port}`
    const known = this.#links.get(key)
    if (known) return known
    const { delayMs } = this
    const socket = createSocket('udp4')
    socket.on('error', () => {})
    socket.on('message', (data) => after(delayMs, () => send(this.#listener, data, port, address)))
    const link = { socket, delayMs }
    this.#links.set(key, link)
    return link
  }
}

/** Timers of the same length run in the order of their start, so datagrams keep their order. */
function after(delayMs: number, run: () => void): void {
  if (delayMs === 0) run()
  else setTimeout(run, delayMs)
}

/** A socket that was closed meanwhile loses the datagram, as a network does. */
function send(socket: Socket, data: Buffer, port: number, host: string): void {
  try {
    socket.send(data, port, host, () => undefined)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_SOCKET_DGRAM_NOT_RUNNING') throw error
  }
}
