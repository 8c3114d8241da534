import type { SignallingCall, SignallingMethod, SignallingResult } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { ConnectionsService } from '../../connections/connections.service.js'
import { observeExperience } from '../../participation/experience-metrics.js'
import { ClientBudgets } from '../../platform/limits/client-budgets.js'
import { SignalsService } from '../../signals/signals.service.js'
import type { JoinedParticipant } from '../sockets/client-socket.js'

/** Methods about the session that need no media. */
export type RoomMethod = Extract<SignallingMethod, 'signal' | 'forceDisconnect' | 'reportExperience'>
type Handler<M extends RoomMethod> = (
  participant: JoinedParticipant,
  call: SignallingCall<M>,
) => Promise<SignallingResult<M>>

/** The handlers of signals, of the eviction of participants, and of reports of clients. */
@Injectable()
export class RoomRpcHandlers {
  constructor(
    private readonly connections: ConnectionsService,
    private readonly signals: SignalsService,
    private readonly budgets: ClientBudgets,
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
    reportExperience: async (participant, report) => {
      const now = performance.now()
      // Reports of recorders would say nothing about people.
      if (participant.isHidden || !this.budgets.of(participant.connectionId, now).mayReport(now)) return {}
      observeExperience(report, participant.hasToReportJoin === true)
      participant.hasToReportJoin = false
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
