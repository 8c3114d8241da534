import { type SendSignalBody, ServiceError, type SignallingCall } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { EventLog } from '../events/event-log.js'
import { signalSent } from '../events/event-drafts.js'
import { ClientBudgets } from '../platform/limits/client-budgets.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { RecentSignals, type SentSignal } from './recent-signals.js'
import { prefixedType, typeInEvent } from './signal-type.js'

/** Messages to participants of a session, from one of them or from the application's server. */
@Injectable()
export class SignalsService {
  readonly #refusals = metrics.counter('signals_rate_limited_total', {
    help: 'Signals of clients that exceeded the budget of their sender',
  })

  constructor(
    private readonly participants: ParticipantRepository,
    private readonly broadcast: SessionBroadcast,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    private readonly budgets: ClientBudgets,
    private readonly recent: RecentSignals,
  ) {}

  /** Keeps the signal for participants that resume; its event names all clients when `to` is empty. */
  #store(session: { id: string; uniqueSessionId: string }, signal: SentSignal, typeOfEvent: string): Promise<number> {
    const { to, from, data } = signal
    return this.events.change(
      { where: 's.unique_id = $1', values: [session.uniqueSessionId] },
      async (manager, record) => {
        if (this.events.isOn) {
          const present =
            to.length > 0
              ? []
              : await this.events.participants(manager, `c.session_id = $1 AND c.type = 'WEBRTC'`, [session.id])
          const recipients = to.length > 0 ? [...to] : present.map(({ connectionId }) => connectionId)
          await record(signalSent(session, { from, to: recipients, type: typeOfEvent, data }, this.clock.now()))
        }
        return this.recent.insert(manager, signal)
      },
    )
  }

  /**
   * An empty `to` addresses all participants, the sender included. RATE_LIMITED when the sender's budget does not allow
   * a signal of this size to that many recipients; INVALID when any of `to` is not a participant.
   */
  async sendFromClient(
    from: { sessionId: string; roomId: string; connectionId: string },
    { to: named, type, data }: SignallingCall<'signal'>,
  ): Promise<void> {
    const to = [...new Set(named)]
    const recipients = to.length > 0 ? to.length : await this.participants.countActive(from.sessionId)
    const now = performance.now()
    if (!this.budgets.of(from.connectionId, now).maySend(Buffer.byteLength(data), recipients, now)) {
      this.#refusals.inc({})
      throw new ServiceError('RATE_LIMITED', `too much data in signals to ${recipients} recipients: try again later`)
    }
    if (to.length > 0) {
      const present = await this.participants.activeAmong(from.sessionId, to)
      const absent = to.filter((id) => !present.has(id))
      if (absent.length > 0) throw new ServiceError('INVALID', `to: no participant ${absent.slice(0, 10).join(', ')}`)
    }
    const params = { type: prefixedType(type), data, from: from.connectionId }
    const { sessionId: id, roomId } = from
    const signalId = await this.#store(
      { id, uniqueSessionId: roomId },
      { roomId, to, ...params },
      typeInEvent(params.type),
    )
    this.broadcast.notify(roomId, { method: 'signal', params }, { signalId, ...(to.length > 0 && { to }) })
  }

  /** POST signal: without `from`. NOT_READY when the session has no participants, or any of `to` is not one of them. */
  async sendFromServer({ session, to, type, data }: SendSignalBody): Promise<void> {
    this.broadcast.requireBus()
    const named = [...new Set(to)]
    const recipients = await this.participants.recipients(session, named)
    if (!recipients) throw new ServiceError('NOT_FOUND', `no session with the id ${session}`, { subject: 'session' })
    if (!recipients.hasParticipants) throw new ServiceError('NOT_READY', 'the session has no participants')
    const present = new Set(recipients.present)
    const absent = named.filter((id) => !present.has(id))
    if (absent.length > 0) throw new ServiceError('NOT_READY', `to: no participant ${absent.slice(0, 10).join(', ')}`)
    const { roomId } = recipients
    const params = { type: prefixedType(type), data }
    const signal = { roomId, to: named, from: null, ...params }
    const signalId = await this.#store({ id: session, uniqueSessionId: roomId }, signal, params.type)
    this.broadcast.notify(roomId, { method: 'signal', params }, { signalId, ...(named.length > 0 && { to: named }) })
  }
}
