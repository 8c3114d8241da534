import { type DisconnectReason, endedByLast, type SessionEndReason } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { execute } from '../platform/database/sql.js'
import { departures, type EventDraft, type EventSession, sessionDestroyed } from '../events/event-drafts.js'
import { linksOfSession, participantsOf } from '../events/event-queries.js'
import { EventLog, type Manager, type Record } from '../events/event-log.js'
import { SessionEndHooks } from '../sessions/session-end-hooks.js'
import type { LockedSession } from './leavers.js'

/** Ends sessions that their last participant, cameras apart, has left, in the transaction of its departure. */
@Injectable()
export class EmptySessions {
  constructor(
    private readonly events: EventLog,
    private readonly endHooks: SessionEndHooks,
    private readonly clock: ClusterClock,
  ) {}

  /**
   * Ends a session that its last participant has left for `reason`, unless a hook keeps it. Returns the recordings that
   * its end stopped; undefined when it was kept.
   */
  async end(
    manager: EntityManager,
    record: Record,
    session: LockedSession,
    reason: DisconnectReason,
  ): Promise<string[] | undefined> {
    if (await this.endHooks.keep(manager, session.uniqueSessionId, reason)) {
      await execute(manager, 'UPDATE session SET was_emptied = true WHERE id = $1', [session.id])
      return undefined
    }
    const [endReason, now] = [endedByLast(reason), this.clock.now()]
    const { events, recordingIds } = await this.endHooks.end(manager, session.uniqueSessionId, endReason, now)
    const leaving = this.events.isOn ? await this.#camerasLeaving(manager, session, endReason, now) : []
    await record(
      ...leaving,
      ...events,
      sessionDestroyed(session, endReason, now, { mediaNodeId: session.place?.nodeId ?? null }),
    )
    await execute(manager, 'DELETE FROM session WHERE id = $1', [session.id])
    return recordingIds
  }

  /** The departures of the cameras of a session that ends. */
  async #camerasLeaving(
    manager: Manager,
    session: EventSession,
    reason: SessionEndReason,
    now: number,
  ): Promise<EventDraft[]> {
    const cameras = await participantsOf(manager, session.id)
    if (cameras.length === 0) return []
    const links = await linksOfSession(manager, session.id)
    return departures(session, cameras, links, reason, now)
  }
}
