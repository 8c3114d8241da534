import type { WebrtcEndReason } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { type EventDraft, type EventSession, mediaEnded } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { linksOfSessions, participantsOfSessions } from '../events/event-queries.js'
import type { PlacedRoom } from '../media-nodes/room-place.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import type { Queryable } from '../platform/database/sql.js'

/** The cause of an end of media that no participant requested. */
interface MediaEnd {
  reason: WebrtcEndReason
  /** Id of the event that the webhook must receive first. */
  afterEventId?: string | undefined
}

interface LosingSession extends EventSession {
  /** The last epoch of the lost media. */
  epoch: number
}

/** Locks sessions, by their `uniqueSessionId`, whose placement meets a condition on the `epoch` of each. */
const lockWhere = (condition: string): KeyedStatement<LosingSession> =>
  new KeyedStatement(
    (is, ofLocked) => `
    SELECT s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt", r.epoch
    FROM session s JOIN unnest($1::text[], $2::integer[]) AS r(unique_id, epoch) USING (unique_id)
    WHERE s.unique_id ${is} AND ${condition} ORDER BY s.id FOR UPDATE OF s ${ofLocked}`,
  )
const LOCK_PLACED = lockWhere('s.media_epoch = r.epoch AND s.media_node_id IS NOT NULL')
const LOCK_OLDER = lockWhere('s.media_epoch < r.epoch')

const DELETE_STREAMS = new KeyedStatement((is) => `DELETE FROM stream WHERE session_id ${is}`)
const CLEAR_PLACES = new KeyedStatement(
  (
    is,
  ) => `UPDATE session s SET media_node_id = NULL, media_node_boot_id = NULL, media_moved = true, media_epoch = r.epoch
    FROM unnest($1::text[], $2::integer[]) AS r(id, epoch) WHERE s.id ${is} AND s.id = r.id`,
)

/**
 * Clears placements whose media is lost, and deletes their streams; the next join places the session again. Publishing and
 * subscribing lock the session's row too, so that no stream of the lost media is inserted afterwards. Hand-written: one
 * transaction clears many sessions of a media node that has failed.
 */
@Injectable()
export class LostMediaRepository {
  constructor(
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {}

  /**
   * Returns the rooms whose media it cleared: none whose session has been placed again since, and of several none that
   * another transaction has locked.
   */
  async lose(rooms: readonly PlacedRoom[], end: MediaEnd): Promise<PlacedRoom[]> {
    const placements = rooms.map(({ roomId, place }) => ({ roomId, epoch: place.epoch }))
    const lost = await this.#lose(LOCK_PLACED, placements, end)
    return rooms.filter(({ roomId }) => lost.has(roomId))
  }

  /**
   * As `lose`, up to a placement that clients have and the database does not know: it has lost commits in a failover.
   * Returns whether it did.
   */
  async loseUntil(roomId: string, epoch: number, end: MediaEnd): Promise<boolean> {
    return (await this.#lose(LOCK_OLDER, [{ roomId, epoch }], end)).size > 0
  }

  #lose(
    lock: KeyedStatement<LosingSession>,
    placements: readonly { roomId: string; epoch: number }[],
    { reason, afterEventId }: MediaEnd,
  ): Promise<Set<string>> {
    return this.events.transaction(
      async (manager, record) => {
        const roomIds = placements.map(({ roomId }) => roomId)
        const epochs = placements.map(({ epoch }) => epoch)
        const sessions = await lock.rows(manager, roomIds, epochs)
        if (sessions.length === 0) return new Set<string>()
        if (this.events.isOn) await record(...(await this.#endsOfMedia(manager, sessions, reason)))
        const ids = sessions.map(({ id }) => id)
        await DELETE_STREAMS.rows(manager, ids)
        const lostEpochs = sessions.map(({ epoch }) => epoch)
        await CLEAR_PLACES.rows(manager, ids, lostEpochs)
        return new Set(sessions.map(({ uniqueSessionId }) => uniqueSessionId))
      },
      { after: afterEventId },
    )
  }

  async #endsOfMedia(
    manager: Queryable,
    sessions: readonly LosingSession[],
    reason: WebrtcEndReason,
  ): Promise<EventDraft[]> {
    const ids = sessions.map(({ id }) => id)
    const participants = await participantsOfSessions(manager, ids)
    const links = await linksOfSessions(manager, ids)
    const now = this.clock.now()
    return sessions.flatMap((session) =>
      mediaEnded(session, participants.get(session.id) ?? [], links.get(session.id) ?? [], reason, now),
    )
  }
}
