import { type SendSignalBody, ServiceError, type SignallingCall } from '@session-service/contract'
import { currentTraceparent, metrics } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { ParticipantRepository } from '../connections/participant.repository.js'
import { EventLog, LOCK_BY_USE } from '../events/event-log.js'
import { type EventDraft, signalSent } from '../events/event-drafts.js'
import type { Queryable } from '../platform/database/sql.js'
import { ClientBudgets } from '../platform/limits/client-budgets.js'
import { SessionBroadcast } from '../platform/bus/session-broadcast.js'
import { noSuchSession } from '../sessions/no-such-session.js'
import { RecentSignals, type SentSignal } from './recent-signals.js'
import { prefixedType, typeInEvent } from './signal-type.js'

/** Signals that one statement stores at most: each may have 64 kB. */
const MOST_STORED = 100

interface StoredSignal extends SentSignal {
  sessionId: string
  typeInEvent: string
  traceContext: string | null
}

/** Messages to participants of a session, from one of them or from the application's server. */
@Injectable()
export class SignalsService {
  readonly #refusals = metrics.counter('signals_rate_limited_total', {
    help: 'Signals of clients that exceeded the budget of their sender',
  })
  readonly #stored: GroupCommit<StoredSignal, number>

  constructor(
    private readonly participants: ParticipantRepository,
    private readonly broadcast: SessionBroadcast,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    private readonly budgets: ClientBudgets,
    private readonly recent: RecentSignals,
  ) {
    this.#stored = new GroupCommit('signal', (signals) => this.#storeAll(signals), isBatchFault, MOST_STORED)
  }

  /** Returns the signal's id. */
  #store(signal: Omit<StoredSignal, 'traceContext'>): Promise<number> {
    return this.#stored.add({ ...signal, traceContext: currentTraceparent() ?? null })
  }

  /** Keeps the signals for participants that resume. */
  #storeAll(signals: StoredSignal[]): Promise<number[]> {
    const sessions = { lock: LOCK_BY_USE, keys: signals.map(({ roomId }) => roomId) }
    return this.events.change(sessions, async (manager, record) => {
      if (this.events.isOn) await record(...(await this.#eventsOf(manager, signals)))
      return this.recent.insert(manager, signals)
    })
  }

  /** The event of a signal to all names all clients. */
  async #eventsOf(manager: Queryable, signals: readonly StoredSignal[]): Promise<EventDraft[]> {
    const toAll = signals.filter(({ to }) => to.length === 0).map(({ sessionId }) => sessionId)
    const clients = await this.participants.clients(manager, toAll)
    return signals.map(({ sessionId: id, roomId: uniqueSessionId, traceContext, typeInEvent: type, ...signal }) => {
      const to = signal.to.length > 0 ? [...signal.to] : (clients.get(id) ?? [])
      const { from, data } = signal
      return { ...signalSent({ id, uniqueSessionId }, { from, to, type, data }, this.clock.now()), traceContext }
    })
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
    const { sessionId, roomId } = from
    const signalId = await this.#store({ sessionId, roomId, to, ...params, typeInEvent: typeInEvent(params.type) })
    this.broadcast.notify(roomId, { method: 'signal', params }, { signalId, ...(to.length > 0 && { to }) })
  }

  /** POST signal: without `from`. NOT_READY when the session has no participants, or any of `to` is not one of them. */
  async sendFromServer({ session, to, type, data }: SendSignalBody): Promise<void> {
    this.broadcast.requireBus()
    const named = [...new Set(to)]
    const recipients = await this.participants.recipients(session, named)
    if (!recipients) throw noSuchSession(session)
    if (!recipients.hasParticipants) throw new ServiceError('NOT_READY', 'the session has no participants')
    const present = new Set(recipients.present)
    const absent = named.filter((id) => !present.has(id))
    if (absent.length > 0) throw new ServiceError('NOT_READY', `to: no participant ${absent.slice(0, 10).join(', ')}`)
    const { roomId } = recipients
    const params = { type: prefixedType(type), data }
    const signal = { sessionId: session, roomId, to: named, from: null, ...params, typeInEvent: params.type }
    const signalId = await this.#store(signal)
    this.broadcast.notify(roomId, { method: 'signal', params }, { signalId, ...(named.length > 0 && { to: named }) })
  }
}
