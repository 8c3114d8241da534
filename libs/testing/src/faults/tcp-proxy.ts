import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net'

/**
 * pass: forwards all data. hang: keeps sockets open and accepts new ones, but forwards nothing. reset: resets existing and
 * new sockets. up, down: forwards only data from clients, or only data to clients. delayMs: delays each chunk; connectMs:
 * and the first one of a client for longer, because the handshake with the proxy itself takes no time.
 * cutAfterBytes: resets a client's socket after this number of bytes to it.
 */
export type ProxyMode =
  'pass' | 'hang' | 'reset' | 'up' | 'down' | { delayMs: number; connectMs?: number } | { cutAfterBytes: number }
type Direction = 'up' | 'down'

export interface ProxyTarget {
  host: string
  port: number
}

/** A TCP proxy that can cut, hold or delay connections. */
export class TcpProxy {
  readonly #links = new Set<Link>()
  #mode: ProxyMode = 'pass'
  #taken = 0
  readonly #server: Server

  private constructor(
    server: Server,
    /** The destination of new connections. */
    public target: ProxyTarget,
  ) {
    this.#server = server
  }

  /** Listens on a free port of `host`, a loopback address. */
  static async open(target: ProxyTarget, host = '127.0.0.1'): Promise<TcpProxy> {
    const server = createServer({ allowHalfOpen: true })
    const proxy = new TcpProxy(server, target)
    server.on('connection', (socket) => proxy.#take(socket))
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(0, host, resolve)
    })
    return proxy
  }

  get address(): ProxyTarget {
    const { address, port } = this.#server.address() as AddressInfo
    return { host: address, port }
  }

  /** Returns the URL with the proxy's address. */
  via(url: string): string {
    const through = new URL(url)
    through.hostname = this.address.host
    through.port = String(this.address.port)
    return through.href
  }

  get mode(): ProxyMode {
    return this.#mode
  }
  set mode(mode: ProxyMode) {
    this.#mode = mode
    for (const link of this.#links) link.follow(mode)
  }

  /** Existing connections hang from now on, whatever the mode is, like those to a machine that has lost its power. */
  strand(): void {
    for (const link of this.#links) link.strand()
  }

  /** The number of open connections. */
  get links(): number {
    return this.#links.size
  }

  /** The number of accepted connections. */
  get taken(): number {
    return this.#taken
  }

  async close(): Promise<void> {
    for (const link of this.#links) link.reset()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  #take(client: Socket): void {
    this.#taken += 1
    if (this.#mode === 'reset') return void client.resetAndDestroy()
    const link = new Link(client, connect({ ...this.target, allowHalfOpen: true }), () => this.#links.delete(link))
    this.#links.add(link)
    link.follow(this.#mode)
  }
}

class Link {
  readonly #flows: readonly Flow[]
  #isOver = false
  #isStranded = false
  readonly #client: Socket
  readonly #target: Socket
  readonly #onOver: () => void

  constructor(client: Socket, target: Socket, onOver: () => void) {
    this.#client = client
    this.#target = target
    this.#onOver = onOver

    const cut = (): void => this.reset()
    this.#flows = [new Flow('up', client, target, cut), new Flow('down', target, client, cut)]
    for (const socket of [client, target]) {
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', (hadError) => this.#closed(hadError))
    }
  }

  follow(mode: ProxyMode): void {
    if (this.#isStranded) return
    if (mode === 'reset') return this.reset()
    for (const flow of this.#flows) flow.follow(mode)
  }

  strand(): void {
    this.follow('hang')
    this.#isStranded = true
  }

  reset(): void {
    for (const socket of [this.#client, this.#target]) if (!socket.destroyed) socket.resetAndDestroy()
  }

  /** Forwards a reset of one side, unless the mode forwards nothing. */
  #closed(hadError: boolean): void {
    if (hadError && this.#flows.every(({ moves }) => moves)) this.reset()
    if (this.#isOver || !this.#client.destroyed || !this.#target.destroyed) return
    this.#isOver = true
    this.#onOver()
  }
}

/** Forwards data in one direction. */
class Flow {
  #mode: ProxyMode = 'pass'
  #bytes = 0
  #isFirst = true
  #last: Promise<void> = Promise.resolve()
  readonly #direction: Direction
  readonly #from: Socket
  readonly #to: Socket
  readonly #cut: () => void

  constructor(direction: Direction, from: Socket, to: Socket, cut: () => void) {
    this.#direction = direction
    this.#from = from
    this.#to = to
    this.#cut = cut

    from.on('data', (chunk: Buffer) => this.#pass(() => this.#write(chunk)))
    from.on('end', () => this.#pass(() => to.end()))
    to.on('drain', () => this.moves && from.resume())
  }

  get moves(): boolean {
    return (
      this.#mode !== 'hang' &&
      (typeof this.#mode === 'object' || this.#mode === 'pass' || this.#mode === this.#direction)
    )
  }

  follow(mode: ProxyMode): void {
    this.#mode = mode
    this.#bytes = 0
    if (this.moves) this.#from.resume()
    else this.#from.pause()
  }

  #pass(deliver: () => void): void {
    const wait = this.#delay()
    this.#isFirst = false
    if (wait === 0) return deliver()
    const due = new Promise<void>((resolve) => setTimeout(resolve, wait))
    // Keeps the order of the chunks, independent of the order of the timers.
    this.#last = Promise.all([this.#last, due]).then(deliver)
  }

  #delay(): number {
    if (typeof this.#mode !== 'object' || !('delayMs' in this.#mode)) return 0
    const { delayMs, connectMs = 0 } = this.#mode
    return this.#isFirst && this.#direction === 'up' ? delayMs + connectMs : delayMs
  }

  #write(chunk: Buffer): void {
    if (this.#to.destroyed) return
    const limit = typeof this.#mode === 'object' && 'cutAfterBytes' in this.#mode ? this.#mode.cutAfterBytes : Infinity
    const remaining = this.#direction === 'down' ? limit - this.#bytes : Infinity
    this.#bytes += chunk.length
    if (chunk.length < remaining) {
      if (!this.#to.write(chunk)) this.#from.pause()
      return
    }
    this.#to.write(chunk.subarray(0, remaining), this.#cut)
  }
}
