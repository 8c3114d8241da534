import {
  type ConnectionInfo,
  newConnectionId,
  newSecret,
  type NotificationParams,
  SIGNALLING_MAX_FRAME_BYTES,
  SIGNALLING_PATH,
  type SignallingNotification,
} from '@session-service/contract'
import { createWorker } from 'mediasoup'
import type { Router, RtpCodecCapability, WebRtcServer, Worker } from 'mediasoup/types'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { BarePeer } from './bare-peer.js'

export interface BareSfuOptions {
  /** Both for the signalling and the media; default 127.0.0.1. */
  host?: string
  /** Consumers begin with these bits a second at hand (mediasoup's own default: 600,000). */
  initialOutgoingBitrate?: number
  /** The UDP port told to clients instead of the real one: that of a relay, which a test has put in between. */
  relayPort?: number
}

/** Opus and VP8, as the synthetic participant and every browser have them. */
const CODECS: Omit<RtpCodecCapability, 'preferredPayloadType'>[] = [
  { kind: 'audio', mimeType: 'audio/opus', clockRate: 48_000, channels: 2 },
  { kind: 'video', mimeType: 'video/VP8', clockRate: 90_000 },
]

/** Bare mediasoup behind a minimal signalling page: one worker, one WebRtcServer, one router, one room. */
export class BareSfu {
  readonly peers = new Map<string, BarePeer>()

  private constructor(
    private readonly options: BareSfuOptions,
    readonly worker: Worker,
    readonly webRtcServer: WebRtcServer,
    readonly router: Router,
    private readonly http: Server,
    private readonly sockets: WebSocketServer,
  ) {
    sockets.on('connection', (socket) => void this.#welcome(socket))
  }

  /**
   * Speaks the contract's signalling (join, publish, subscribe and what belongs to them) for anyone with any token, and
   * knows neither master nor bus nor rules. Tests of the synthetic participant run against it, and benchmarks take it as
   * the peer to compare with. The worker is the one mediasoup finds by itself (`MEDIASOUP_WORKER_BIN` or its own).
   */
  static async start(options: BareSfuOptions = {}): Promise<BareSfu> {
    const { host = '127.0.0.1' } = options
    const worker = await createWorker({ logLevel: 'warn' })
    const webRtcServer = await worker.createWebRtcServer({ listenInfos: [{ protocol: 'udp', ip: host }] })
    const router = await worker.createRouter({ mediaCodecs: CODECS })
    const http = createServer().listen(0, host)
    await once(http, 'listening')
    const sockets = new WebSocketServer({
      server: http,
      path: SIGNALLING_PATH,
      maxPayload: SIGNALLING_MAX_FRAME_BYTES,
      perMessageDeflate: false,
    })
    return new BareSfu(options, worker, webRtcServer, router, http, sockets)
  }

  get port(): number {
    return (this.http.address() as AddressInfo).port
  }

  /** A token string for the one room; every one admits. */
  token(): string {
    const { host = '127.0.0.1' } = this.options
    return `ws://${host}:${this.port}${SIGNALLING_PATH}?sessionId=bare&token=tok_${newSecret()}`
  }

  /** CPU the worker has used, ms: user and system. */
  async workerCpuMs(): Promise<number> {
    const { ru_utime, ru_stime } = await this.worker.getResourceUsage()
    return ru_utime + ru_stime
  }

  /** Tells everyone in the room but `except`. */
  tell<N extends SignallingNotification>(method: N, params: NotificationParams<N>, except?: BarePeer): void {
    for (const peer of this.peers.values()) if (peer !== except) peer.notify(method, params)
  }

  get connections(): ConnectionInfo[] {
    return [...this.peers.values()].map(({ info }) => info)
  }

  /** Ends sockets, worker and listener. */
  async stop(): Promise<void> {
    for (const peer of [...this.peers.values()]) peer.close('sessionClosedByServer')
    this.sockets.close()
    for (const socket of this.sockets.clients) socket.terminate()
    this.worker.close()
    this.http.closeAllConnections()
    await new Promise((resolve) => this.http.close(resolve))
  }

  async #welcome(socket: WebSocket): Promise<void> {
    // Nobody listens yet to what the client says meanwhile.
    socket.pause()
    const [send, receive] = await Promise.all([this.#transport(), this.#transport()])
    new BarePeer(this, newConnectionId(), socket, { send, recv: receive })
    socket.resume()
  }

  /** Where the media really is. */
  async mediaPort(): Promise<number> {
    const { udpSockets } = await this.webRtcServer.dump()
    return udpSockets[0]?.port ?? 0
  }

  get relayPort(): number | undefined {
    return this.options.relayPort
  }

  #transport() {
    return this.router.createWebRtcTransport({
      webRtcServer: this.webRtcServer,
      initialAvailableOutgoingBitrate: this.options.initialOutgoingBitrate ?? 600_000,
    })
  }
}
