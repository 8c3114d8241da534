import {
  type DisconnectReason,
  ServiceError,
  type SignallingCall,
  type SignallingResult,
  SIGNALLING_WINDOWS,
} from '@session-service/contract'
import { sleep } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import type { Participant } from '../../connections/connection.records.js'
import { ConnectionsService } from '../../connections/connections.service.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { Arrivals } from '../../participation/arrivals.js'
import { resolveLimits } from '../../participation/bandwidth.js'
import { observeJoinStep } from '../../participation/join-metrics.js'
import { JoinService } from '../../participation/join.service.js'
import { ParticipantPresence } from '../../participation/participant-presence.js'
import { type OpenedTransports, type PerStreamMedia, RoomEntry } from '../../participation/room-entry.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { VERSION } from '../../platform/config/version.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { RecentSignals } from '../../signals/recent-signals.js'
import { iceServersFor } from '../ice/ice-servers.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'
import { SocketRegistry } from '../sockets/socket-registry.js'
import { traceJoin } from './call-trace.js'
import { connectionEnded } from './participant-checks.js'
import { ParticipantState, syncEpoch } from './participant-state.js'

/** Messages of different masters that crossed each other have arrived after this time, ms. */
const CROSSED_MESSAGES_MS = 1_000

type JoinCall = SignallingCall<'join'>
type Opened<M> = (participant: Participant) => Promise<{ media: M; place: RoomPlace }>
/** The answer to a join; `M`: the media that was opened. */
type Joined<M> = Omit<SignallingResult<'join'>, keyof OpenedTransports> & M

/** The handlers of `join`, `resume` and `leave`: which participant a socket speaks for. */
@Injectable()
export class JoinRpcHandlers {
  readonly #logger = new Logger(JoinRpcHandlers.name)

  constructor(
    private readonly joins: JoinService,
    private readonly arrivals: Arrivals,
    private readonly entry: RoomEntry,
    private readonly presence: ParticipantPresence,
    private readonly connections: ConnectionsService,
    private readonly state: ParticipantState,
    private readonly recentSignals: RecentSignals,
    private readonly nodeCommands: NodeCommands,
    private readonly sockets: SocketRegistry,
    private readonly broadcast: SessionBroadcast,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  join(socket: ClientSocket, call: JoinCall): Promise<SignallingResult<'join'>> {
    return this.#join(socket, call, (participant) => this.entry.enter(participant))
  }

  /** For a client with a transport for each stream. A join that the caller aborts is undone as after a failure. */
  joinPerStream(socket: ClientSocket, call: JoinCall, signal: AbortSignal): Promise<Joined<PerStreamMedia>> {
    return this.#join(socket, call, (participant) => this.entry.enterPerStream(participant), signal)
  }

  async #join<M>(socket: ClientSocket, call: JoinCall, open: Opened<M>, signal?: AbortSignal): Promise<Joined<M>> {
    this.broadcast.requireBus()
    const { token, clientData, platform = socket.platform } = call
    const startedAt = performance.now()
    const { participant, resumeKey } = await this.joins.take(token, { clientData, ip: socket.ip, platform })
    observeJoinStep('token', performance.now() - startedAt)
    const entered = await traceJoin(participant, startedAt, (traced) => this.#enter(socket, traced, open, signal))
    observeJoinStep('total', performance.now() - startedAt)
    return { ...entered, resumeKey }
  }

  /** Undoes everything after a failure, so that the token can be used again. */
  async #enter<M>(
    socket: ClientSocket,
    participant: Participant,
    open: Opened<M>,
    signal?: AbortSignal,
  ): Promise<Omit<Joined<object>, 'resumeKey'> & M> {
    const { roomId, connectionId } = participant
    let opened: RoomPlace | undefined
    let isOver = false
    socket.hold()
    try {
      await this.sockets.attach(roomId, connectionId, socket)
      const { media, place } = await open(participant)
      opened = place
      const enteredAt = performance.now()
      requireInTime(signal)
      // The media may have been lost meanwhile: the held notification follows the answer.
      const isLost = this.sockets.isMediaLost(roomId, place.epoch)
      socket.participant = { ...participant, place: isLost ? null : place, hasToReportJoin: true }
      const { snapshot, changed } = await this.state.refresh(socket.participant)
      requireInTime(signal)
      // It may have been removed before the socket was attached, or since.
      isOver = changed === undefined || !(await this.#isConnected(socket))
      if (isOver) throw connectionEnded()
      const { role, record } = socket.participant
      this.#announce(socket, { ...participant, role, record })
      observeJoinStep('answer', performance.now() - enteredAt)
      return {
        ...this.#welcome({ ...participant, role, record }),
        ...media,
        snapshot: { ...snapshot, mediaEpoch: place.epoch },
      }
    } catch (error) {
      socket.forgetHeld()
      socket.participant = undefined
      this.sockets.detach(roomId, connectionId, socket)
      if (opened) await this.nodeCommands.notify(opened, 'leave', { roomId, connectionId })
      if (!isOver) await this.joins.rollback(participant)
      throw error
    }
  }

  #announce(socket: ClientSocket, participant: Participant): void {
    const isPresent = (): boolean => this.sockets.isCurrent(socket)
    const removedSoon = async (): Promise<DisconnectReason | undefined> => {
      await sleep(CROSSED_MESSAGES_MS)
      return socket.endReason
    }
    this.arrivals.announce(participant, { isPresent, removedSoon }).catch((error: unknown) => {
      // After an outage of the bus, clients get a snapshot.
      const { connectionId } = participant
      this.#logger.warn({ err: error, connectionId }, 'checking whether a new participant was removed failed')
    })
  }

  /** The members of the answer that depend on the participant and the configuration alone. */
  #welcome(
    participant: Participant,
  ): Omit<SignallingResult<'join'>, 'resumeKey' | 'snapshot' | keyof OpenedTransports> {
    const { connectionId, sessionId, role, record, activeAt, serverData, iceServers } = participant
    const { allowedFilters } = participant.mediaserverOptions ?? {}
    const { maxSendKbps, minSendKbps } = resolveLimits(participant.mediaserverOptions, this.config)
    return {
      connectionId,
      sessionId,
      role,
      record,
      createdAt: activeAt,
      serverData,
      version: VERSION,
      pingInterval: SIGNALLING_WINDOWS.ping,
      evictAfter: SIGNALLING_WINDOWS.evict,
      iceServers: iceServersFor(iceServers, this.config, this.clock.now()),
      simulcast: this.config.SERVICE_WEBRTC_SIMULCAST,
      maxSendKbps,
      minSendKbps,
      ...(allowedFilters && { allowedFilters }),
    }
  }

  /** Ends a participant that was evicted, or whose socket closed, while its media was opened. */
  async #isConnected(socket: ClientSocket): Promise<boolean> {
    const { participant } = socket
    if (!participant || (this.sockets.isCurrent(socket) && socket.isOpen)) return true
    await this.connections.depart(participant.connectionId, 'networkDisconnect')
    return false
  }

  async resume(socket: ClientSocket, call: SignallingCall<'resume'>): Promise<SignallingResult<'resume'>> {
    this.broadcast.requireBus()
    const { participant, place, lastSignalId, wasHere } = await this.joins.resume(call.connectionId, call.resumeKey)
    const { roomId, connectionId } = participant
    socket.hold()
    const joined: JoinedParticipant = (socket.participant = { ...participant, place, wasHere })
    try {
      await this.sockets.attach(roomId, connectionId, socket)
      this.broadcast.taken(roomId, connectionId, socket.id)
      void this.state.requestSendLimits(joined)
      const [{ snapshot }, missed] = await Promise.all([
        this.state.refresh(joined, { mayKnowRecordings: true }),
        this.recentSignals.missed(participant, { received: call.receivedSignals, lastSent: lastSignalId }),
      ])
      syncEpoch(joined, snapshot)
      socket.replayAfterAnswer(missed)
      return { role: joined.role, record: joined.record, snapshot }
    } catch (error) {
      socket.forgetHeld()
      socket.participant = undefined
      this.sockets.detach(roomId, connectionId, socket)
      await this.presence.markLost(connectionId, 0)
      throw error
    }
  }

  async leave(socket: ClientSocket, { roomId, connectionId }: JoinedParticipant): Promise<void> {
    // The participant gets no notification of its own departure.
    this.sockets.detach(roomId, connectionId, socket)
    try {
      await this.connections.depart(connectionId, 'disconnect')
    } catch (error) {
      // The participant is still in the session: it may leave again, and is marked as lost when its socket closes.
      await this.sockets.attach(roomId, connectionId, socket)
      throw error
    }
    socket.participant = undefined
  }
}

function requireInTime(signal: AbortSignal | undefined): void {
  if (signal?.aborted) throw new ServiceError('TIMEOUT', 'joining took too long')
}
