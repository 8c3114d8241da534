import {
  type ConnectionView,
  CreateConnectionBody,
  type CreateTokenBody,
  type DisconnectReason,
  newConnectionId,
  ServiceError,
  type TokenView,
  type UpdateConnectionBody,
} from '@session-service/contract'
import { currentTraceparent, describeSpan } from '@session-service/server-kit'
import { Inject, Injectable, type StreamableFile } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../platform/config/configuration.module.js'
import { isRecorded } from '../platform/config/edition.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { streamedList } from '../platform/http/answers/streamed-list.js'
import { FULL_VIEW } from '../platform/http/access/viewer.js'
import { NodeCommands } from '../media-nodes/node-commands.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { SessionsService } from '../sessions/sessions.service.js'
import { TokensService } from '../tokens/tokens.service.js'
import type { Absence, ChangedRights, RemovedConnection } from './connection.records.js'
import { ConnectionRepository } from './connection.repository.js'
import { type ConnectionRow, connectionView, tokenOf, withoutSecrets } from './connection.view.js'
import { DepartureRepository } from './departure.repository.js'
import { ParticipantRepository } from './participant.repository.js'
import { RecorderRepository } from './recorder.repository.js'
import { RoleChangeHooks } from './role-change-hooks.js'
import { tokenView } from './token.view.js'

/** An active one that is no camera: it has a client, and a role. */
const isParticipant = ({ status, type }: ChangedRights): boolean => status !== 'pending' && type !== 'IPCAM'

const noSuchConnection = (id: string): ServiceError =>
  new ServiceError('NOT_FOUND', `no connection with the id ${id}`, { subject: 'connection' })

@Injectable()
export class ConnectionsService {
  constructor(
    private readonly connections: ConnectionRepository,
    private readonly participants: ParticipantRepository,
    private readonly departures: DepartureRepository,
    private readonly recorders: RecorderRepository,
    private readonly roleChanges: RoleChangeHooks,
    private readonly sessions: SessionsService,
    private readonly nodeCommands: NodeCommands,
    private readonly broadcast: SessionBroadcast,
    private readonly tokens: TokensService,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Creates a connection and returns its Token object (`POST tokens`). */
  async createToken(body: CreateTokenBody): Promise<TokenView> {
    const { session, role, data, mediaserverOptions } = body
    const connection = CreateConnectionBody.parse({ role, data, mediaserverOptions })
    return tokenView(await this.create(session, connection), body)
  }

  /** Creates a connection for a client. */
  async create(sessionId: string, body: CreateConnectionBody): Promise<ConnectionView> {
    const id = newConnectionId()
    const { token, nonce, hash } = this.tokens.mint(id)
    const connection = {
      id,
      sessionId,
      createdAt: this.clock.now(),
      serverData: body.data,
      record: isRecorded(this.config, body.record),
      role: body.role,
      mediaserverOptions: body.mediaserverOptions ?? null,
      iceServers: body.customIceServers,
      tokenNonce: nonce,
      tokenHash: hash.toString('hex'),
    }
    describeSpan({ 'session.id': sessionId, 'connection.id': id })
    await this.connections.insert({ ...connection, traceContext: currentTraceparent() ?? null })
    const row: ConnectionRow = {
      ...connection,
      type: 'WEBRTC',
      status: 'pending',
      activeAt: null,
      clientData: null,
      location: null,
      ip: null,
      platform: null,
      camera: null,
      cameraState: null,
      publishers: [],
      subscribers: [],
    }
    return connectionView(row, this.tokens.urlWith(sessionId, token))
  }

  /** Returns a single-use token with a short lifetime, with which a recorder joins hidden and with receive rights only. */
  async expectRecorder(sessionId: string): Promise<string> {
    const id = newConnectionId()
    const { token, nonce, hash } = this.tokens.mint(id)
    const recorder = {
      id,
      sessionId,
      createdAt: this.clock.now(),
      serverData: '',
      record: false,
      role: 'SUBSCRIBER' as const,
      mediaserverOptions: null,
      iceServers: [],
      tokenNonce: nonce,
      tokenHash: hash.toString('hex'),
      traceContext: null,
    }
    await this.recorders.insert(recorder)
    return token
  }

  async get(sessionId: string, id: string, viewer = FULL_VIEW): Promise<ConnectionView> {
    const row = await this.connections.find(sessionId, id)
    if (row) return this.#view(row, viewer)
    await this.sessions.require(sessionId)
    throw noSuchConnection(id)
  }

  /** Streams all connections of a session as JSON. */
  async list(sessionId: string, withPending: boolean, viewer = FULL_VIEW): Promise<StreamableFile> {
    return streamedList({
      key: ['connections', sessionId, withPending, viewer.seesSecrets],
      readPage: async (after) => {
        const page = await this.connections.page(sessionId, withPending, after)
        if (!after && page.length === 0) await this.sessions.require(sessionId)
        return page
      },
      view: (row) => this.#view(row, viewer),
    })
  }

  /** Changes role and record of a pending or active connection. Its published streams continue under any role. */
  async update(sessionId: string, id: string, changes: UpdateConnectionBody): Promise<ConnectionView> {
    this.broadcast.requireBus()
    let changedRights: ChangedRights | undefined
    const row = await this.connections.change(sessionId, id, changes, (changed) => {
      if (changed.type === 'IPCAM' && changes.role !== undefined) {
        throw new ServiceError('INVALID', 'role: a camera has no role')
      }
      changedRights = changed
      return this.#announceRights(id, changed)
    })
    if (row && changedRights && changes.record !== undefined) await this.#notifyRecorders(id, changedRights)
    if (row && changedRights && isParticipant(changedRights) && changedRights.role !== changedRights.former.role)
      await this.roleChanges.roleChanged({ ...changedRights, connectionId: id })
    if (row) return this.#view(row)
    await this.sessions.require(sessionId)
    throw noSuchConnection(id)
  }

  async #announceRights(connectionId: string, changed: ChangedRights): Promise<void> {
    const { roomId, role, record, former } = changed
    if (!isParticipant(changed) || (role === former.role && record === former.record)) return
    this.broadcast.rights(roomId, connectionId, role, record)
    for (const changedProperty of ['role', 'record'] as const) {
      const newValue = changed[changedProperty]
      if (newValue === former[changedProperty]) continue
      const params = { connectionId, changedProperty, newValue }
      this.broadcast.notify(roomId, { method: 'connectionPropertyChanged', params }, { to: [connectionId] })
    }
    await this.broadcast.sent()
  }

  /**
   * Sends the current value to the recordings of the room, since it may have changed again. Sends an unchanged value
   * too: the node may have missed the previous command.
   */
  async #notifyRecorders(connectionId: string, { roomId, nodeId, status }: ChangedRights): Promise<void> {
    if (status === 'pending' || nodeId === null) return
    const rights = await this.participants.rights(connectionId)
    if (rights)
      await this.nodeCommands.notify({ nodeId }, 'changePeer', { roomId, connectionId, record: rights.record })
  }

  /** Evicts a participant, or invalidates a pending connection. NOT_FOUND names the session or the connection. */
  async evict(sessionId: string, id: string, reason: DisconnectReason): Promise<void> {
    this.broadcast.requireBus()
    const removed = await this.departures.remove(id, reason, { sessionId })
    if (removed) return this.#afterRemoval(removed, reason)
    await this.sessions.require(sessionId)
    throw noSuchConnection(id)
  }

  /** Removes a participant, `only` while it is in that state. Does nothing when it is already removed. */
  async depart(id: string, reason: DisconnectReason, only?: Absence): Promise<void> {
    const removed = await this.departures.remove(id, reason, { only })
    if (removed) await this.#afterRemoval(removed, reason)
  }

  async #afterRemoval(removed: RemovedConnection, reason: DisconnectReason): Promise<void> {
    const { connectionId, roomId, wasActive, wasHidden, streamIds, place, sessionEnded, recordingIds } = removed
    if (!wasActive && !wasHidden) return
    if (wasHidden) this.broadcast.dismiss(roomId, connectionId, reason)
    else this.broadcast.evict(roomId, connectionId, streamIds, reason)
    if (sessionEnded) await this.sessions.release({ uniqueSessionId: roomId, place, recordingIds })
    else if (place) await this.nodeCommands.notify(place, 'leave', { roomId, connectionId })
  }

  #view(row: ConnectionRow, { seesSecrets } = FULL_VIEW): ConnectionView {
    const view = connectionView(row, this.tokens.url(row.sessionId, row.id, tokenOf(row)))
    return seesSecrets ? view : withoutSecrets(view)
  }
}
