import {
  type ConnectionInfo,
  newConnectionId,
  newSecret,
  type NotificationParams,
  SIGNALLING_MAX_FRAME_BYTES,
  SIGNALLING_PATH,
  type SignallingNotification,
} from '@session-service/contract'
import type { Router, RtpCodecCapability, WebRtcServer, Worker } from 'mediasoup/types'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type WebSocket, WebSocketServer } from 'ws'
import { BarePeer } from './bare-peer.js'

export interface BareSfuOptions {
  /** The address for signalling and media; default 127.0.0.1. */
  host?: string
  /** The initial bandwidth of consumers, bits per second (default of mediasoup: 600,000). */
  initialOutgoingBitrate?: number
  /** The UDP port announced to clients instead of the real one, for a relay. */
  relayPort?: number
}

/** Opus and VP8, which the synthetic participant and all browsers support. */
const CODECS: Omit<RtpCodecCapability, 'preferredPayloadType'>[] = [
  { kind: 'audio', mimeType: 'audio/opus', clockRate: 48_000, channels: 2 },
  { kind: 'video', mimeType: 'video/VP8', clockRate: 90_000 },
]

/** Plain mediasoup with minimal signalling: one worker, one WebRtcServer, one router, one room. */
export class BareSfu {
  readonly peers = new Map<string, BarePeer>()
  readonly #options: BareSfuOptions
  readonly #http: Server
  readonly #sockets: WebSocketServer

  private constructor(
    options: BareSfuOptions,
    readonly worker: Worker,
    readonly webRtcServer: WebRtcServer,
    readonly router: Router,
    http: Server,
    sockets: WebSocketServer,
  ) {
    this.#options = options
    this.#http = http
    this.#sockets = sockets

    sockets.on('connection', (socket) => void this.#welcome(socket))
  }

  /**
   * Implements the signalling methods for joining, publishing and subscribing, accepts any token, and needs neither master
   * nor bus. Tests of the synthetic participant run against it, and benchmarks use it as the baseline. mediasoup selects the
   * worker (`MEDIASOUP_WORKER_BIN` or its own).
   */
  static async start(options: BareSfuOptions = {}): Promise<BareSfu> {
    const { host = '127.0.0.1' } = options
    // Loading it takes CPU time, which participants without this server need not spend.
    const { createWorker } = await import('mediasoup')
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
    return (this.#http.address() as AddressInfo).port
  }

  /** Creates a token for the room. */
  token(): string {
    const { host = '127.0.0.1' } = this.#options
    return `ws://${host}:${this.port}${SIGNALLING_PATH}?sessionId=bare&token=tok_${newSecret()}`
  }

  /** The CPU time of the worker (user and system), ms. */
  async workerCpuMs(): Promise<number> {
    const { ru_utime, ru_stime } = await this.worker.getResourceUsage()
    return ru_utime + ru_stime
  }

  /** Sends a notification to all participants except `except`. */
  broadcast<N extends SignallingNotification>(method: N, params: NotificationParams<N>, except?: BarePeer): void {
    for (const peer of this.peers.values()) if (peer !== except) peer.notify(method, params)
  }

  get connections(): ConnectionInfo[] {
    return [...this.peers.values()].map(({ info }) => info)
  }

  /** Closes sockets, worker and listener. */
  async stop(): Promise<void> {
    for (const peer of [...this.peers.values()]) peer.close('sessionClosedByServer')
    this.#sockets.close()
    for (const socket of this.#sockets.clients) socket.terminate()
    this.worker.close()
    this.#http.closeAllConnections()
    await new Promise((resolve) => this.#http.close(resolve))
  }

  async #welcome(socket: WebSocket): Promise<void> {
    // The listener does not exist yet, so reading is paused.
    socket.pause()
    const [send, receive] = await Promise.all([this.#transport(), this.#transport()])
    new BarePeer(this, newConnectionId(), socket, { send, recv: receive })
    socket.resume()
  }

  /** The real UDP port of the media. */
  async mediaPort(): Promise<number> {
    const { udpSockets } = await this.webRtcServer.dump()
    return udpSockets[0]?.port ?? 0
  }

  get relayPort(): number | undefined {
    return this.#options.relayPort
  }

  #transport() {
    return this.router.createWebRtcTransport({
      webRtcServer: this.webRtcServer,
      initialAvailableOutgoingBitrate: this.#options.initialOutgoingBitrate ?? 600_000,
    })
  }
}
