import type { SignallingCall, SignallingMethod, SignallingResult } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { ConnectionsService } from '../../connections/connections.service.js'
import { SignalsService } from '../../signals/signals.service.js'
import type { JoinedParticipant } from '../sockets/client-socket.js'

/** Methods about the session that need no media. */
export type RoomMethod = Extract<SignallingMethod, 'signal' | 'forceDisconnect'>
type Handler<M extends RoomMethod> = (
  participant: JoinedParticipant,
  call: SignallingCall<M>,
) => Promise<SignallingResult<M>>

/** The handlers of signals and of the eviction of participants. */
@Injectable()
export class RoomRpcHandlers {
  constructor(
    private readonly connections: ConnectionsService,
    private readonly signals: SignalsService,
  ) {}

  readonly #handlers: { [M in RoomMethod]: Handler<M> } = {
    signal: async (participant, call) => {
      await this.signals.sendFromClient(participant, call)
      return {}
    },
    forceDisconnect: async ({ sessionId }, { connectionId }) => {
      await this.connections.evict(sessionId, connectionId, 'forceDisconnectByUser')
      return {}
    },
  }

  call<M extends RoomMethod>(
    method: M,
    participant: JoinedParticipant,
    call: SignallingCall<M>,
  ): Promise<SignallingResult<M>> {
    const handler: Handler<M> = this.#handlers[method]
    return handler(participant, call)
  }
}
