import { descendantsOf, type Env, TcpProxy, udpPortsOf, UdpProxy } from '@session-service/testing'

const HOST = '127.0.0.1'
/** The address that media servers announce: relays listen there at the ports of the servers. */
const RELAY_HOST = '127.0.0.3'

/**
 * Relays that delay what pages send and receive, signalling and media, by half of the round-trip time each way. Participants
 * that send media before the first page is invited are not delayed. Without a round-trip time there are no relays.
 */
export class DelayedNetwork implements AsyncDisposable {
  readonly #signalling: TcpProxy[] = []
  readonly #media: UdpProxy[] = []

  constructor(private readonly rttMs: number) {}

  /** The address for media; undefined: that of the server. */
  get announcedHost(): string | undefined {
    return this.rttMs > 0 ? RELAY_HOST : undefined
  }

  /** The properties of media nodes. */
  get nodeEnv(): Env {
    return this.rttMs > 0 ? { MEDIA_NODE_ANNOUNCED_ADDRESS: RELAY_HOST } : {}
  }

  /** Returns a function that rewrites URLs of this server for pages. */
  async relay(serverUrl: string): Promise<(url: string) => string> {
    if (this.rttMs === 0) return (url) => url
    const { hostname, port } = new URL(serverUrl)
    const proxy = await TcpProxy.open({ host: hostname, port: Number(port) })
    // A TCP handshake takes a round trip. The client sends with its last part, so the first data arrives one later.
    proxy.mode = { delayMs: this.rttMs / 2, connectMs: this.rttMs }
    this.#signalling.push(proxy)
    return (url) => proxy.via(url)
  }

  /** Relays the media of a process and its descendants. */
  async relayMediaOf(pid: number): Promise<void> {
    const pids = [pid, ...descendantsOf(pid).map((each) => each.pid)]
    await Promise.all(pids.flatMap((each) => udpPortsOf(each)).map((port) => this.relayMedia(port)))
  }

  async relayMedia(port: number): Promise<void> {
    if (this.rttMs > 0) this.#media.push(await UdpProxy.open({ host: HOST, port }, RELAY_HOST))
  }

  /** Delays the media of clients that come from now on. */
  delay(): void {
    for (const proxy of this.#media) proxy.delayMs = this.rttMs / 2
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([
      ...this.#signalling.map((proxy) => proxy.close()),
      ...this.#media.map((proxy) => proxy[Symbol.asyncDispose]()),
    ])
  }
}
