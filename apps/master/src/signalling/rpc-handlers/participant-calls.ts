import {
  type Role,
  ServiceError,
  type SignallingMethod,
  type SignallingParams,
  type SignallingResult,
} from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { ParticipantRepository } from '../../connections/participant.repository.js'
import { SessionBroadcast } from '../../platform/bus/session-broadcast.js'
import type { JoinedParticipant } from '../sockets/client-socket.js'
import { isMediaMethod, type MediaMethod, MediaRpcHandlers } from './media.rpc-handlers.js'
import { readCall } from './read-call.js'
import { isPrivileged, requireRight } from './rights.js'
import { type RoomMethod, RoomRpcHandlers } from './room.rpc-handlers.js'

/** Methods of a participant in its session. */
type ParticipantMethod = MediaMethod | RoomMethod

/** The calls of participants with the checks that all of them share. */
@Injectable()
export class ParticipantCalls {
  constructor(
    private readonly mediaHandlers: MediaRpcHandlers,
    private readonly roomHandlers: RoomRpcHandlers,
    private readonly participants: ParticipantRepository,
    private readonly broadcast: SessionBroadcast,
  ) {}

  /** Checks the right to the method, reads the parameters and calls the handler. */
  async call<M extends ParticipantMethod>(
    method: M,
    participant: JoinedParticipant,
    params: SignallingParams<M>,
  ): Promise<SignallingResult<M>> {
    const role = await this.authorize(participant, method)
    const result = await this.execute(method, participant, params, role)
    // The compiler does not see that the handler of `method` gives the result of `M`.
    return result as SignallingResult<M>
  }

  /** The role with which the participant calls the method. @throws ServiceError NOT_ALLOWED */
  async authorize(participant: JoinedParticipant, method: SignallingMethod): Promise<Role> {
    const role = isPrivileged(method) ? await this.#currentRole(participant) : participant.role
    requireRight(role, method, participant.isHidden)
    this.broadcast.requireBus()
    return role
  }

  /** Reads the parameters and calls the handler; `role` is that of `authorize`. */
  execute(
    method: ParticipantMethod,
    participant: JoinedParticipant,
    params: object,
    role: Role,
  ): Promise<SignallingResult<ParticipantMethod>> {
    return isMediaMethod(method)
      ? this.mediaHandlers.call(method, participant, readCall(method, params), role)
      : this.roomHandlers.call(method, participant, readCall(method, params))
  }

  /** The role in the database. A participant without a row has been removed. */
  async #currentRole({ connectionId }: JoinedParticipant): Promise<Role> {
    const role = await this.participants.role(connectionId)
    if (!role) throw new ServiceError('NOT_ALLOWED', 'the connection has ended')
    return role
  }
}
