import type { DisconnectReason } from '@session-service/contract'
import {
  departures,
  type EventDraft,
  type EventParticipant,
  type EventSession,
  type WebrtcLink,
} from '../events/event-drafts.js'
import type { RoomPlace } from '../media-nodes/room-place.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import type { Queryable } from '../platform/database/sql.js'

/** A session whose row the transaction has locked. */
export type LockedSession = EventSession & { place: RoomPlace | null; wasLeft: boolean }

/** A participant that leaves, by its own request or after a failed join. */
interface Leaver {
  participant: EventParticipant & { sessionId: string }
  reason: DisconnectReason
  /** The `traceparent` of the request that removes it. */
  traceContext: string | null
}

const LOCK_SESSIONS = new KeyedStatement<LockedSession>(
  (is) => `SELECT s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt",
      s.was_left AS "wasLeft", CASE WHEN s.media_node_id IS NOT NULL THEN json_build_object(
        'nodeId', s.media_node_id, 'bootId', s.media_node_boot_id, 'epoch', s.media_epoch) END AS place
    FROM session s WHERE s.id = ANY(ARRAY(SELECT session_id FROM connection WHERE id ${is})) ORDER BY s.id FOR UPDATE`,
)

/**
 * Locks the sessions of connections against joins and departures, in the order of ids: no two changes deadlock. By the
 * id of the session.
 */
export async function lockSessions(
  manager: Queryable,
  connectionIds: readonly string[],
): Promise<Map<string, LockedSession>> {
  const locked = await LOCK_SESSIONS.rows(manager, connectionIds)
  return new Map(locked.map((session) => [session.id, session]))
}

/** Participants with the requests that remove them; `index` is that of the request. */
export const leaversOf = (
  participants: readonly (Leaver['participant'] & { index: number })[],
  requests: readonly Omit<Leaver, 'participant'>[],
): Leaver[] =>
  participants.flatMap((participant) => {
    const request = requests[participant.index]
    return request ? [{ participant, reason: request.reason, traceContext: request.traceContext }] : []
  })

/** The events of participants that leave one after another, each with the media that ends with it. */
export function leaverEvents(
  leavers: readonly Leaver[],
  sessions: ReadonlyMap<string, LockedSession>,
  links: readonly WebrtcLink[],
  now: number,
): EventDraft[] {
  let remaining = links
  return leavers.flatMap(({ participant, reason, traceContext }) => {
    const session = sessions.get(participant.sessionId)
    if (!session) return []
    const events = departures(session, [participant], remaining, reason, now)
    const { connectionId: id } = participant
    remaining = remaining.filter(({ connectionId, publisherId }) => connectionId !== id && publisherId !== id)
    return events.map((event) => ({ ...event, traceContext }))
  })
}
