import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { CLOSE_CODE, describePlatform, SIGNALLING_MAX_FRAME_BYTES } from '@session-service/contract'
import { AlignedInterval, metrics, sleep } from '@session-service/server-kit'
import { type BeforeApplicationShutdown, Inject, Injectable, Logger } from '@nestjs/common'
import { type WebSocket, WebSocketServer } from 'ws'
import { sourceOf } from '../../platform/authentication/rate-limiter.js'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { clientAddress } from '../../platform/http/proxies/client-address.js'
import { type ClientBudget, ClientBudgets } from '../../platform/limits/client-budgets.js'
import { ClientSocket } from '../sockets/client-socket.js'
import { bufferOf, CallQueues } from './calls.js'
import { firstFrameOf, selectSubprotocol } from './first-frame.js'
import { NativeEndpoint } from './native-endpoint.js'
import { refusals } from './refusals.js'
import { SocketChecks } from './socket-checks.js'
import type { SocketEndpoint } from './socket-endpoint.js'
import { SocketLiveness } from './socket-liveness.js'
import { refuseUpgrade } from './upgrade.js'

/** Clients of a master that shuts down reconnect to others spread over this time, ms. */
const RECONNECT_SPREAD_MS = 2_000
/** A client that does not answer the closing handshake is cut off after this time, ms. */
const CLOSE_TIMEOUT_MS = 1_000
/** A client pings every few seconds: removing its budget in between would create one for each ping. */
const FORGET_BUDGETS_MS = 60_000

/** The WebSocket endpoints of clients: accepts sockets, limits and reads their frames, closes them at shutdown. */
@Injectable()
export class SignallingGateway implements BeforeApplicationShutdown {
  readonly #logger = new Logger(SignallingGateway.name)
  readonly #server = new WebSocketServer({
    noServer: true,
    maxPayload: SIGNALLING_MAX_FRAME_BYTES,
    perMessageDeflate: false,
    handleProtocols: selectSubprotocol,
  })
  readonly #sockets = new Set<ClientSocket>()
  readonly #calls = new Set<CallQueues>()
  readonly #checks = new SocketChecks(() => this.#checkAll(performance.now()))
  readonly #budgetCheck: AlignedInterval
  readonly #addressOf: (request: IncomingMessage) => string
  readonly #endpoints = new Map<string, SocketEndpoint>()
  #isClosing = false

  constructor(
    native: NativeEndpoint,
    private readonly liveness: SocketLiveness,
    private readonly budgets: ClientBudgets,
    @Inject(MASTER_CONFIG) config: MasterConfig,
  ) {
    this.serve(native)
    this.#budgetCheck = new AlignedInterval(() => budgets.forgetFull(performance.now()), FORGET_BUDGETS_MS)
    this.#addressOf = clientAddress(config.SERVICE_TRUSTED_PROXIES)
    metrics.sampled('client_sockets', 'Open client sockets', () => this.#sockets.size)
  }

  /** Accepts sockets at the path of the endpoint. */
  serve(endpoint: SocketEndpoint): void {
    this.#endpoints.set(endpoint.path, endpoint)
  }

  /** Takes the upgrades of an HTTP server. */
  attachTo(http: Server): void {
    http.on('upgrade', (request, stream, head) => this.#upgrade(request, stream, head))
  }

  #upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Node has removed its own listener, and an error without a listener would end the process.
    stream.on('error', () => stream.destroy())
    const target = URL.parse(request.url ?? '/', 'http://localhost')
    const endpoint = target && this.#endpoints.get(target.pathname)
    if (!endpoint) return refuseUpgrade(stream, target ? '404 Not Found' : '400 Bad Request')
    const refusal = this.#isClosing ? '503 Service Unavailable' : endpoint.refusal(target.searchParams)
    if (refusal) return refuseUpgrade(stream, refusal)
    const address = this.#addressOf(request)
    const exceeded = endpoint.unjoined.exceededBy(sourceOf(address))
    if (exceeded) {
      refusals.inc({ limit: `unjoined_${exceeded}` })
      return refuseUpgrade(stream, '429 Too Many Requests', ['Retry-After: 1'])
    }
    this.#server.handleUpgrade(request, stream, head, (socket) =>
      this.#accept(socket, endpoint, request, address, stream),
    )
  }

  #accept(
    webSocket: WebSocket,
    endpoint: SocketEndpoint,
    request: IncomingMessage,
    address: string,
    stream: Duplex,
  ): void {
    const platform = describePlatform(request.headers['user-agent'] ?? 'unknown')
    const socket = new ClientSocket(webSocket, address, platform, performance.now(), endpoint.dialect(), stream)
    const calls = new CallQueues()
    const countAsJoined = endpoint.unjoined.add(sourceOf(address))
    socket.onJoined = countAsJoined
    this.#sockets.add(socket)
    this.#checks.accepted()
    this.#calls.add(calls)
    webSocket.on('message', (data, isBinary) => this.#receive(socket, endpoint, calls, bufferOf(data), isBinary))
    webSocket.on('error', (error) => this.#logger.debug({ err: error }, 'a client socket failed'))
    webSocket.on('close', () => {
      countAsJoined()
      this.#sockets.delete(socket)
      void calls.idle().then(() => {
        this.#calls.delete(calls)
        return this.liveness.closed(socket)
      })
    })
    const first = firstFrameOf(webSocket.protocol, request.headers['sec-websocket-protocol'])
    if (first) this.#receive(socket, endpoint, calls, first, false)
  }

  #receive(socket: ClientSocket, endpoint: SocketEndpoint, calls: CallQueues, data: Buffer, isBinary: boolean): void {
    if (socket.isAbusive || socket.isOver) return
    const now = performance.now()
    if (!this.#spend(socket, now, data.length, endpoint.frameCost)) return
    const request = socket.read(data, isBinary)
    this.liveness.received(socket, now)
    if (!request) return
    if (request.method === 'ping') socket.dialect.pinged()
    const cost = endpoint.cost(request)
    if (cost > 0 && !this.#spend(socket, now, 0, cost)) return
    void Promise.resolve(endpoint.handle(socket, calls, request)).catch((error: unknown) =>
      this.#logger.error({ err: error }, 'a call of a client failed'),
    )
  }

  /** Counts bytes and calls; closes the socket of a client that exceeds its budget and returns false. */
  #spend(socket: ClientSocket, now: number, bytes: number, calls: number): boolean {
    const exceeded = this.#budgetOf(socket, now).exceededBy(bytes, now, calls)
    if (!exceeded) return true
    socket.lastSeen = now
    refusals.inc({ limit: exceeded })
    socket.closeForAbuse(`too many ${exceeded}`)
    return false
  }

  #budgetOf({ participant, unjoinedBudget }: ClientSocket, now: number): ClientBudget {
    return participant ? this.budgets.of(participant.connectionId, now) : unjoinedBudget
  }

  /** Returns whether there are clients. */
  #checkAll(now: number): boolean {
    for (const socket of this.#sockets) this.liveness.check(socket, now)
    return this.#sockets.size > 0
  }

  /** Before HTTP closes, which waits for sockets. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.closeAllSockets()
    this.#server.close()
  }

  /**
   * Sends clients to another master, spread over time; their participants stay. Accepts no socket from then on. Resolves
   * with the number of closed sockets.
   */
  async closeAllSockets(): Promise<number> {
    this.#isClosing = true
    this.liveness.handOver()
    this.#checks.stop()
    this.#budgetCheck.stop()
    await Promise.all([...this.#calls].map((calls) => calls.idle()))
    return this.redirectClients()
  }

  /** Sends clients to other masters, spread over time, with the usual window to resume. Resolves with their number. */
  async redirectClients(): Promise<number> {
    const sockets = [...this.#sockets]
    await Promise.all(sockets.map((socket) => this.#redirect(socket)))
    return sockets.length
  }

  async #redirect(socket: ClientSocket): Promise<void> {
    const afterMs = Math.round(Math.random() * RECONNECT_SPREAD_MS)
    if (socket.dialect.reconnectsAtOnce) await Promise.race([sleep(afterMs), socket.ended])
    socket.notify('reconnect', { afterMs })
    socket.close(CLOSE_CODE.goingAway, 'the server is going away')
    const timeout = setTimeout(() => socket.terminate(), CLOSE_TIMEOUT_MS)
    await socket.ended
    clearTimeout(timeout)
  }
}
