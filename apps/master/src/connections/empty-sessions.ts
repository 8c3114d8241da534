import { type DisconnectReason, endedByLast, type SessionEndReason } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { type EventDraft, sessionDestroyed } from '../events/event-drafts.js'
import { departuresFrom } from '../events/event-queries.js'
import { EventLog, type RecordEvents } from '../events/event-log.js'
import { SessionEndHooks } from '../sessions/session-end-hooks.js'
import type { LockedSession } from './leavers.js'

/** A session that its last participant, cameras apart, has left for `reason`. */
export interface EmptySession {
  session: LockedSession
  reason: DisconnectReason
  /** The `traceparent` of the request that removes the participant. */
  traceContext: string | null
}

type Ending = Omit<EmptySession, 'reason'> & { uniqueSessionId: string; reason: SessionEndReason }

const KEEP = new KeyedStatement((is) => `UPDATE session SET was_emptied = true, was_left = false WHERE id ${is}`)
const MARK_LEFT = new KeyedStatement((is) => `UPDATE session SET was_left = true WHERE id ${is}`)
const DELETE = new KeyedStatement((is) => `DELETE FROM session WHERE id ${is}`)

/** Ends sessions that their last participants, cameras apart, have left, in the transaction of their departure. */
@Injectable()
export class EmptySessions {
  constructor(
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {}

  /**
   * Records the events of the departures and ends the sessions, unless a hook keeps them. Returns the recordings that
   * stopped with each session that has ended, by its id.
   */
  async end(
    manager: EntityManager,
    record: RecordEvents,
    empty: readonly EmptySession[],
    departed: readonly EventDraft[],
  ): Promise<Map<string, string[]>> {
    const ending = empty.length === 0 ? [] : await this.#withoutKept(manager, empty)
    const now = this.clock.now()
    const ended = await this.endHooks.end(manager, ending, now)
    const leavingCameras = this.events.isOn
      ? await departuresFrom(manager, ending, now)
      : new Map<string, EventDraft[]>()
    const ends = ending.flatMap(({ session, reason, traceContext }) => {
      const drafts = [
        ...(leavingCameras.get(session.id) ?? []),
        ...(ended.get(session.uniqueSessionId)?.events ?? []),
        sessionDestroyed(session, reason, now, { mediaNodeId: session.place?.nodeId ?? null }),
      ]
      return drafts.map((event) => ({ traceContext, ...event }))
    })
    await record(...departed, ...ends)
    const ids = ending.map(({ session }) => session.id)
    if (ids.length > 0) await DELETE.rows(manager, ids)
    return new Map(
      ending.map(({ session }) => [session.id, ended.get(session.uniqueSessionId)?.recordingIds ?? []] as const),
    )
  }

  /**
   * Marks sessions that a participant has left, and others not: when the joins of all others fail, the last of them ends
   * the session.
   */
  async left(manager: EntityManager, sessions: readonly LockedSession[]): Promise<void> {
    const ids = sessions.filter(({ wasLeft }) => !wasLeft).map(({ id }) => id)
    if (ids.length > 0) await MARK_LEFT.rows(manager, ids)
  }

  /** Notifies the hooks of sessions that their last cameras have left, and that stay. */
  async deserted(manager: EntityManager, uniqueSessionIds: readonly string[]): Promise<void> {
    if (uniqueSessionIds.length > 0) await this.endHooks.deserted(manager, uniqueSessionIds)
  }

  async #withoutKept(manager: EntityManager, empty: readonly EmptySession[]): Promise<Ending[]> {
    const emptied = empty.map(({ session: { uniqueSessionId }, reason }) => ({ uniqueSessionId, reason }))
    const kept = await this.endHooks.keep(manager, emptied)
    const isKept = ({ session }: EmptySession): boolean => kept.has(session.uniqueSessionId)
    const keptIds = empty.filter(isKept).map(({ session }) => session.id)
    if (keptIds.length > 0) await KEEP.rows(manager, keptIds)
    return empty
      .filter((one) => !isKept(one))
      .map(({ session, reason, traceContext }) => {
        const { uniqueSessionId } = session
        return { session, uniqueSessionId, reason: endedByLast(reason), traceContext }
      })
  }
}
