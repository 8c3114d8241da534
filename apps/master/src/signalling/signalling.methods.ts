import {
  CLOSE_CODE,
  ServiceError,
  type SessionSnapshot,
  type SignallingCall,
  type SignallingMethod,
  type SignallingResult,
  SIGNALLING_WINDOWS,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { ConnectionsService } from '../connections/connections.service.js'
import type { Participant } from '../connections/connection.records.js'
import { ParticipationService } from '../participation/participation.service.js'
import { VERSION } from '../platform/config/version.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { iceServersFor } from './ice/ice-servers.js'
import { MediaNodesService } from '../media-nodes/media-nodes.service.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { RecentSignals } from '../signals/recent-signals.js'
import { SignalsService } from '../signals/signals.service.js'
import type { ClientSocket, Occupant } from './client-socket.js'
import type { MediaMethod } from './media.methods.js'
import { RoomSockets } from './room-sockets.js'
import { SessionChannel } from '../platform/bus/session-channel.js'

/** Methods of a participant that is in, but those about its media. */
type RoomMethod = Exclude<SignallingMethod, 'join' | 'resume' | 'rejoin' | 'leave' | 'ping' | MediaMethod>
type Handler<M extends SignallingMethod> = (occupant: Occupant, call: SignallingCall<M>) => Promise<SignallingResult<M>>

/** What each method of the signalling protocol does, on the same services that REST calls. */
@Injectable()
export class SignallingMethods {
  constructor(
    private readonly participation: ParticipationService,
    private readonly connections: ConnectionsService,
    private readonly signals: SignalsService,
    private readonly recentSignals: RecentSignals,
    private readonly mediaNodes: MediaNodesService,
    private readonly rooms: RoomSockets,
    private readonly channel: SessionChannel,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async join(socket: ClientSocket, call: SignallingCall<'join'>): Promise<SignallingResult<'join'>> {
    this.channel.requireBus()
    const { token, clientData, platform = socket.platform } = call
    const { participant, resumeKey } = await this.participation.take(token, { clientData, ip: socket.ip, platform })
    const { roomId, connectionId, sessionId } = participant
    socket.hold()
    try {
      await this.rooms.attach(roomId, connectionId, socket)
      const { media, place } = await this.participation.enter(participant)
      // Lost again before anybody heard of it: what was held back tells the client so after the answer.
      const isLost = this.rooms.isMediaLost(roomId, place.epoch)
      socket.occupant = { ...participant, place: isLost ? null : place }
      await this.requireStillIn(socket, place)
      const [snapshot] = await Promise.all([
        this.participation.snapshot(participant),
        this.refreshRights(socket.occupant),
      ])
      const { role, record } = socket.occupant
      this.participation.announce({ ...participant, role, record })
      return {
        connectionId,
        sessionId,
        role,
        record,
        createdAt: participant.activeAt,
        serverData: participant.serverData,
        version: VERSION,
        resumeKey,
        pingInterval: SIGNALLING_WINDOWS.ping,
        evictAfter: SIGNALLING_WINDOWS.evict,
        ...media,
        iceServers: iceServersFor(participant.iceServers, this.config, this.clock.now()),
        simulcast: this.config.SERVICE_WEBRTC_SIMULCAST,
        ...this.sendLimits(participant),
        snapshot: { ...snapshot, mediaEpoch: place.epoch },
      }
    } catch (error) {
      socket.forgetHeld()
      const isEvicted = socket.occupant !== undefined
      socket.occupant = undefined
      this.rooms.detach(roomId, connectionId, socket)
      if (!isEvicted) await this.participation.turnAway(participant)
      throw error
    }
  }

  private sendLimits(participant: Participant): Pick<SignallingResult<'join'>, 'maxSendKbps' | 'minSendKbps'> {
    const { maxSendKbps, minSendKbps } = this.participation.limits(participant)
    return { maxSendKbps, minSendKbps }
  }

  /** Evicted, or its socket gone, while the node was opening its transports: they go too. */
  private async requireStillIn(socket: ClientSocket, place: RoomPlace): Promise<void> {
    const { occupant } = socket
    if (!occupant || (this.rooms.isCurrent(socket) && socket.isOpen)) return
    const { roomId, connectionId } = occupant
    await this.connections.depart(connectionId, 'networkDisconnect')
    await this.mediaNodes.tell(place, 'leave', { roomId, connectionId })
    throw new ServiceError('UNAUTHENTICATED', 'the connection has ended')
  }

  async resume(socket: ClientSocket, call: SignallingCall<'resume'>): Promise<SignallingResult<'resume'>> {
    this.channel.requireBus()
    const { participant, place, lastSignalId } = await this.participation.resume(call.connectionId, call.resumeKey)
    const { roomId, connectionId } = participant
    socket.hold()
    const occupant: Occupant = (socket.occupant = { ...participant, place })
    try {
      await this.rooms.attach(roomId, connectionId, socket)
      this.channel.taken(roomId, connectionId, socket.id)
      void this.requestSendLimits(occupant)
      const [snapshot, missed] = await Promise.all([
        this.participation.snapshot(participant),
        this.recentSignals.missed(participant, { received: call.receivedSignals, lastSent: lastSignalId }),
        this.refreshRights(occupant),
      ])
      this.knowEpoch(occupant, snapshot)
      socket.replayAfterAnswer(missed)
      return { role: occupant.role, record: occupant.record, snapshot }
    } catch (error) {
      socket.forgetHeld()
      socket.occupant = undefined
      this.rooms.detach(roomId, connectionId, socket)
      await this.participation.lost(connectionId, 0)
      throw error
    }
  }

  /** A loss of media that went unheard shows in the snapshot, for the client as well. */
  knowEpoch(occupant: Occupant, { mediaEpoch }: SessionSnapshot): void {
    if (occupant.place && occupant.place.epoch < mediaEpoch) occupant.place = null
  }

  /** Changes made while the room was not listened to went unheard: takes them in and tells which there were. */
  async refreshRights(occupant: Occupant): Promise<('role' | 'record')[]> {
    const rights = await this.participation.rights(occupant.connectionId)
    if (!rights) return []
    const changed = (['role', 'record'] as const).filter((property) => rights[property] !== occupant[property])
    Object.assign(occupant, rights)
    return changed
  }

  /** Events of the media node may have been missed: it reports the limits of what the participant publishes again. */
  async requestSendLimits({ place, roomId, connectionId }: Occupant): Promise<void> {
    if (place) await this.mediaNodes.tell(place, 'reportSendLimits', { roomId, connectionId })
  }

  async leave(socket: ClientSocket, { roomId, connectionId }: Occupant): Promise<void> {
    // Its own going is not told to it.
    this.rooms.detach(roomId, connectionId, socket)
    try {
      await this.connections.depart(connectionId, 'disconnect')
    } catch (error) {
      // Still in: it may leave again, and is missed when its socket closes.
      await this.rooms.attach(roomId, connectionId, socket)
      throw error
    }
    socket.occupant = undefined
  }

  /** After the answer to `leave`. */
  farewell(socket: ClientSocket): void {
    socket.close(CLOSE_CODE.done, 'disconnect')
  }

  readonly inRoom: { [M in RoomMethod]: Handler<M> } = {
    signal: async (occupant, call) => {
      await this.signals.sendFromClient(occupant, call)
      return {}
    },
    forceDisconnect: async ({ sessionId }, { connectionId }) => {
      await this.connections.evict(sessionId, connectionId, 'forceDisconnectByUser')
      return {}
    },
  }

  /** Carries out a method of somebody who is in; the pair of method and call fits by construction. */
  call<M extends RoomMethod>(method: M, occupant: Occupant, call: SignallingCall<M>): Promise<SignallingResult<M>> {
    const handler: Handler<M> = this.inRoom[method]
    return handler(occupant, call)
  }
}
