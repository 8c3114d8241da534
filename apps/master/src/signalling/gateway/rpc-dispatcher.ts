import {
  CLOSE_CODE,
  type Role,
  type RpcRequest,
  ServiceError,
  type SignallingMethod,
  type SignallingResult,
} from '@session-service/contract'
import { failSpan, translateDatabaseError } from '@session-service/server-kit'
import { Injectable, Logger } from '@nestjs/common'
import { ParticipantRepository } from '../../connections/participant.repository.js'
import { countFailedJoin } from '../../participation/join-metrics.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import { traceCall } from '../rpc-handlers/call-trace.js'
import { JoinRpcHandlers } from '../rpc-handlers/join.rpc-handlers.js'
import { isMediaMethod, MediaRpcHandlers } from '../rpc-handlers/media.rpc-handlers.js'
import { isPrivileged, requireRight } from '../rpc-handlers/rights.js'
import { RoomRpcHandlers } from '../rpc-handlers/room.rpc-handlers.js'
import type { ClientSocket, JoinedParticipant } from '../sockets/client-socket.js'
import { isEntry, readCall } from './calls.js'
import { refusals } from './refusals.js'

/** Calls the handler of a request, after the checks that all methods share, and sends the answer. */
@Injectable()
export class RpcDispatcher {
  readonly #logger = new Logger(RpcDispatcher.name)

  constructor(
    private readonly joinHandlers: JoinRpcHandlers,
    private readonly mediaHandlers: MediaRpcHandlers,
    private readonly roomHandlers: RoomRpcHandlers,
    private readonly participants: ParticipantRepository,
    private readonly broadcast: SessionBroadcast,
  ) {}

  handle(socket: ClientSocket, method: SignallingMethod, request: RpcRequest): Promise<void> {
    return traceCall(socket, method, () => this.#handle(socket, method, request))
  }

  async #handle(socket: ClientSocket, method: SignallingMethod, { id, params }: RpcRequest): Promise<void> {
    try {
      await this.#dispatch(socket, method, params ?? {}, id)
    } catch (error) {
      const known = error instanceof ServiceError ? error : translateDatabaseError(error)
      failSpan(known?.code ?? 'INTERNAL')
      if (!known) this.#logger.error({ err: error, method }, 'a call of a client failed')
      if (method === 'join') countFailedJoin(known)
      socket.refuse(id, known ?? new ServiceError('INTERNAL', 'internal error'))
      if (isEntry(method) && !socket.participant && socket.countFailedJoin()) refusals.inc({ limit: 'failed_joins' })
    }
  }

  async #dispatch(socket: ClientSocket, method: SignallingMethod, params: object, id: RpcRequest['id']): Promise<void> {
    if (isEntry(method)) return this.#enter(socket, method, params, id)
    const { participant } = socket
    if (!participant) throw new ServiceError('NOT_ALLOWED', `${method} before join`)
    if (method === 'leave') {
      await this.joinHandlers.leave(socket, participant)
      socket.answer(id, {})
      return socket.close(CLOSE_CODE.done, 'disconnect')
    }
    if (method === 'ping') return
    const role = isPrivileged(method) ? await this.#currentRole(participant) : participant.role
    requireRight(role, method, participant.isHidden)
    this.broadcast.requireBus()
    if (method === 'rejoin') {
      const result = await this.mediaHandlers.rejoin(socket, participant)
      socket.answer(id, result)
      return socket.releaseAfter(result.snapshot)
    }
    const result: SignallingResult<SignallingMethod> = isMediaMethod(method)
      ? await this.mediaHandlers.call(method, participant, readCall(method, params), role)
      : await this.roomHandlers.call(method, participant, readCall(method, params))
    socket.answer(id, result)
  }

  /** The role in the database, or the socket's when the row has been deleted. */
  async #currentRole({ connectionId, role }: JoinedParticipant): Promise<Role> {
    return (await this.participants.role(connectionId)) ?? role
  }

  /** Assigns a participant to the socket. */
  async #enter(socket: ClientSocket, method: 'join' | 'resume', params: object, id: RpcRequest['id']): Promise<void> {
    if (socket.participant) throw new ServiceError('CONFLICT', 'this socket has joined already')
    // The call waited in the queue while its client resumed elsewhere: it must not take the participant from there.
    if (!socket.isOpen) throw new ServiceError('UNAVAILABLE', 'the socket is closed')
    const result =
      method === 'join'
        ? await this.joinHandlers.join(socket, readCall('join', params))
        : await this.joinHandlers.resume(socket, readCall('resume', params))
    socket.onJoined()
    socket.answer(id, result)
    socket.releaseAfter(result.snapshot)
  }
}
