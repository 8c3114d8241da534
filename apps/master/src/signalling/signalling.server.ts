import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import {
  CLOSE_CODE,
  describePlatform,
  isSignallingMethod,
  type RpcRequest,
  ServiceError,
  SIGNALLING_MAX_FRAME_BYTES,
  SIGNALLING_WINDOWS,
  type SignallingMethod,
} from '@session-service/contract'
import { metrics, translateDatabaseError } from '@session-service/server-kit'
import { Inject, Injectable, Logger, type BeforeApplicationShutdown } from '@nestjs/common'
import { type WebSocket, WebSocketServer } from 'ws'
import { ParticipationService } from '../participation/participation.service.js'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { sourceOf } from '../platform/authentication/failed-attempts.js'
import { clientAddress } from '../platform/http/client-address.js'
import { bufferOf, isEntry, queueKey, readCall } from './calls.js'
import { type ClientBudget, ClientBudgets } from '../platform/limits/client-budgets.js'
import { ClientSocket, type Occupant } from './client-socket.js'
import { KeyedQueue } from './keyed-queue.js'
import { MediaMethods } from './media.methods.js'
import { isPrivileged, requireRight } from './rights.js'
import { RoomSockets } from './room-sockets.js'
import { SessionChannel } from '../platform/bus/session-channel.js'
import { SignallingMethods } from './signalling.methods.js'
import { UnjoinedSockets } from './unjoined-sockets.js'
import { refuseUpgrade, upgradeRefusal } from './upgrade.js'

const METHOD_NOT_FOUND = -32601
const CHECK_EVERY_MS = 1_000
/** Clients of a server that goes away come back elsewhere spread over this long, ms. */
const RECONNECT_SPREAD_MS = 2_000
/** A client that does not take part in closing its socket is cut off after this long, ms. */
const FAREWELL_MS = 1_000

/** The clients' WebSocket: takes sockets, reads frames, watches for silence. */
@Injectable()
export class SignallingServer implements BeforeApplicationShutdown {
  private readonly logger = new Logger(SignallingServer.name)
  private readonly server = new WebSocketServer({
    noServer: true,
    maxPayload: SIGNALLING_MAX_FRAME_BYTES,
    perMessageDeflate: false,
  })
  private readonly sockets = new Set<ClientSocket>()
  private readonly underWay = new Set<KeyedQueue>()
  private readonly watch: NodeJS.Timeout
  private readonly addressOf: (request: IncomingMessage) => string
  private readonly unjoined = new UnjoinedSockets()
  private readonly refusals = metrics.counter('signalling_refusals_total', {
    help: 'Frames, signals and sockets of clients that were refused, by the limit they exceeded',
    labels: { limit: ['calls', 'bytes', 'failed_joins', 'unjoined_source', 'unjoined_total'] },
  })
  private isClosing = false

  constructor(
    private readonly methods: SignallingMethods,
    private readonly media: MediaMethods,
    private readonly participation: ParticipationService,
    private readonly rooms: RoomSockets,
    private readonly channel: SessionChannel,
    private readonly budgets: ClientBudgets,
    @Inject(MASTER_CONFIG) config: MasterConfig,
  ) {
    this.addressOf = clientAddress(config.SERVICE_TRUSTED_PROXIES)
    channel.whenBack(() => this.tellAllAnew())
    this.watch = setInterval(() => this.checkAll(performance.now()), CHECK_EVERY_MS)
    metrics.sampled('client_sockets', 'Sockets of clients that this master holds', () => this.sockets.size)
  }

  /** Takes the upgrades of an HTTP server. */
  attachTo(http: Server): void {
    http.on('upgrade', (request, stream, head) => this.upgrade(request, stream, head))
  }

  private upgrade(request: IncomingMessage, stream: Duplex, head: Buffer): void {
    // Node has let go of its own listener, and an error without one would end the process.
    stream.on('error', () => stream.destroy())
    const refusal = upgradeRefusal(request, this.isClosing)
    if (refusal) return refuseUpgrade(stream, refusal)
    const address = this.addressOf(request)
    const exceeded = this.unjoined.exceededBy(sourceOf(address))
    if (exceeded) {
      this.refusals.inc({ limit: `unjoined_${exceeded}` })
      return refuseUpgrade(stream, '429 Too Many Requests', ['Retry-After: 1'])
    }
    this.server.handleUpgrade(request, stream, head, (socket) => this.accept(socket, request, address))
  }

  private accept(webSocket: WebSocket, request: IncomingMessage, address: string): void {
    const platform = describePlatform(request.headers['user-agent'] ?? 'unknown')
    const socket = new ClientSocket(webSocket, address, platform, performance.now())
    const queue = new KeyedQueue((error) => this.logger.error({ err: error }, 'a call of a client failed'))
    const countAsJoined = this.unjoined.add(sourceOf(address))
    socket.onJoined = countAsJoined
    this.sockets.add(socket)
    this.underWay.add(queue)
    webSocket.on('message', (data, isBinary) => this.receive(socket, queue, bufferOf(data), isBinary))
    webSocket.on('error', (error) => this.logger.debug({ err: error }, 'a client socket failed'))
    webSocket.on('close', () => {
      countAsJoined()
      this.sockets.delete(socket)
      void queue.idle().then(() => {
        this.underWay.delete(queue)
        return this.closed(socket)
      })
    })
  }

  private receive(socket: ClientSocket, queue: KeyedQueue, data: Buffer, isBinary: boolean): void {
    if (socket.isAbusive) return
    const now = (socket.lastSeen = performance.now())
    const exceeded = this.budgetOf(socket, now).exceededBy(data.length, now)
    if (exceeded) {
      this.refusals.inc({ limit: exceeded })
      return socket.closeForAbuse(`too many ${exceeded}`)
    }
    const request = socket.read(data, isBinary)
    if (!request) return
    if (socket.isMarkedLost && this.rooms.isCurrent(socket)) this.foundAgain(socket)
    if (!isSignallingMethod(request.method)) {
      if (request.id !== undefined) socket.fail(request.id, METHOD_NOT_FOUND, `there is no method ${request.method}`)
      return
    }
    const { method } = request
    if (method === 'ping') return socket.answer(request.id, {})
    queue.run(queueKey(request), () => this.carryOut(socket, method, request))
  }

  private async carryOut(socket: ClientSocket, method: SignallingMethod, { id, params }: RpcRequest): Promise<void> {
    try {
      await this.dispatch(socket, method, params ?? {}, id)
    } catch (error) {
      const known = error instanceof ServiceError ? error : translateDatabaseError(error)
      if (!known) this.logger.error({ err: error, method }, 'a call of a client failed')
      socket.refuse(id, known ?? new ServiceError('INTERNAL', 'internal error'))
      if (isEntry(method)) this.countFailedJoin(socket)
    }
  }

  private budgetOf(socket: ClientSocket, now: number): ClientBudget {
    const { occupant, unjoinedBudget } = socket
    return occupant ? this.budgets.of(occupant.connectionId, now) : unjoinedBudget
  }

  private countFailedJoin(socket: ClientSocket): void {
    if (!socket.occupant && socket.countFailedJoin()) this.refusals.inc({ limit: 'failed_joins' })
  }

  private async dispatch(
    socket: ClientSocket,
    method: SignallingMethod,
    params: object,
    id: RpcRequest['id'],
  ): Promise<void> {
    if (isEntry(method)) return this.letIn(socket, method, params, id)
    const { occupant } = socket
    if (!occupant) throw new ServiceError('NOT_ALLOWED', `${method} before join`)
    if (method === 'leave') {
      await this.methods.leave(socket, occupant)
      socket.answer(id, {})
      return this.methods.farewell(socket)
    }
    if (method === 'ping') return
    const role = isPrivileged(method) ? await this.participation.role(occupant) : occupant.role
    requireRight(role, method, occupant.isHidden)
    this.channel.requireBus()
    if (method === 'rejoin') {
      const result = await this.media.rejoin(socket, occupant)
      socket.answer(id, result)
      return socket.releaseAfter(result.snapshot)
    }
    const result = this.media.isOne(method)
      ? await this.media.call(method, occupant, readCall(method, params))
      : await this.methods.call(method, occupant, readCall(method, params))
    socket.answer(id, result)
  }

  private async letIn(
    socket: ClientSocket,
    method: 'join' | 'resume',
    params: object,
    id: RpcRequest['id'],
  ): Promise<void> {
    if (socket.occupant) throw new ServiceError('CONFLICT', 'this socket has joined already')
    // It has waited, and its client has gone elsewhere: it must not take the participant from there.
    if (!socket.isOpen) throw new ServiceError('UNAVAILABLE', 'the socket is closed')
    const result =
      method === 'join'
        ? await this.methods.join(socket, readCall('join', params))
        : await this.methods.resume(socket, readCall('resume', params))
    socket.onJoined()
    socket.answer(id, result)
    socket.releaseAfter(result.snapshot)
  }

  /** The socket is gone: its participant, if it did not leave, has the window to come back. */
  private async closed(socket: ClientSocket): Promise<void> {
    const { occupant } = socket
    if (!occupant || !this.rooms.isCurrent(socket)) return
    this.rooms.detach(occupant.roomId, occupant.connectionId, socket)
    await this.markLost(socket, performance.now())
  }

  private async markLost(socket: ClientSocket, now: number): Promise<void> {
    const { occupant, lastSeen, lastSignalId } = socket
    if (!occupant) return
    socket.isMarkedLost = true
    await this.participation.lost(occupant.connectionId, now - lastSeen, lastSignalId).catch((error: unknown) => {
      this.logger.warn({ err: error, connectionId: occupant.connectionId }, 'a lost participant could not be marked')
    })
  }

  private foundAgain(socket: ClientSocket): void {
    const { occupant } = socket
    socket.isMarkedLost = false
    if (!occupant) return
    void this.participation.found(occupant.connectionId).catch(() => {
      socket.isMarkedLost = true
    })
  }

  private checkAll(now: number): void {
    this.budgets.forgetFull(now)
    for (const socket of this.sockets) {
      const silent = now - socket.lastSeen
      if (!socket.occupant && now - socket.openedAt > SIGNALLING_WINDOWS.join) {
        socket.close(CLOSE_CODE.abuse, 'no join in time')
      }
      if (silent > SIGNALLING_WINDOWS.silent && !socket.isMarkedLost && this.rooms.isCurrent(socket)) {
        void this.markLost(socket, now)
      }
      // A half-open socket never answers a closing handshake.
      if (silent > SIGNALLING_WINDOWS.evict + SIGNALLING_WINDOWS.silent) socket.terminate()
    }
  }

  /** Drops sockets whose participants the database does not know here any more: what a lost message left behind. */
  async dropStrangers(): Promise<void> {
    const held = new Map<string, ClientSocket>()
    for (const socket of this.rooms.all()) if (socket.occupant) held.set(socket.occupant.connectionId, socket)
    if (held.size === 0) return
    for (const connectionId of await this.participation.strangers([...held.keys()])) {
      const socket = held.get(connectionId)
      if (!socket?.occupant || !this.rooms.isCurrent(socket)) continue
      this.rooms.detach(socket.occupant.roomId, connectionId, socket)
      socket.notify('sessionDisconnected', { reason: 'networkDisconnect' })
      socket.close(CLOSE_CODE.done, 'networkDisconnect')
    }
  }

  /** Tells the database which participants are here, should it not know. */
  async alignDeadlines(): Promise<void> {
    const here = [...this.rooms.entries()]
    const speaking = here.filter(([, socket]) => socket.isOpen && !socket.isMarkedLost)
    const idsOf = (some: typeof here): string[] => some.map(([connectionId]) => connectionId)
    await this.participation.alignDeadlines(idsOf(here), idsOf(speaking))
  }

  /** After the bus was away its messages are missing: the clients are told how things stand. */
  private async tellAllAnew(): Promise<void> {
    const sockets = [...this.rooms.all()]
    for (const socket of sockets) {
      const { occupant } = socket
      if (!occupant) continue
      await this.resync(socket, occupant).catch((error: unknown) => {
        this.logger.error({ err: error, connectionId: occupant.connectionId }, 'a snapshot could not be sent')
        // The client resumes on a new socket, with a snapshot; the others get theirs.
        socket.terminate()
      })
    }
  }

  private async resync(socket: ClientSocket, occupant: Occupant): Promise<void> {
    socket.hold()
    const [snapshot, changed] = await Promise.all([
      this.participation.snapshot(occupant).catch(() => undefined),
      this.methods.refreshRights(occupant).catch(() => []),
    ])
    if (snapshot) {
      this.methods.knowEpoch(occupant, snapshot)
      socket.notify('snapshot', snapshot)
    }
    for (const changedProperty of changed) {
      const params = { connectionId: occupant.connectionId, changedProperty, newValue: occupant[changedProperty] }
      socket.notify('connectionPropertyChanged', params)
    }
    socket.releaseAfter(snapshot)
    void this.methods.requestSendLimits(occupant)
  }

  /** Before HTTP closes, which waits for sockets. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.sendAway()
    this.server.close()
  }

  /** Sends clients to another master, spread over time; their participants stay. No socket is taken from then on. */
  async sendAway(): Promise<void> {
    this.isClosing = true
    clearInterval(this.watch)
    await Promise.all([...this.underWay].map((queue) => queue.idle()))
    for (const socket of this.sockets) {
      socket.notify('reconnect', { afterMs: Math.round(Math.random() * RECONNECT_SPREAD_MS) })
      socket.close(CLOSE_CODE.goingAway, 'the server is going away')
    }
    const patience = setTimeout(() => this.sockets.forEach((socket) => socket.terminate()), FAREWELL_MS)
    await Promise.all([...this.sockets].map((socket) => socket.ended))
    clearTimeout(patience)
  }
}
