import type { DisconnectReason } from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isLockingBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import type { EventParticipant } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { linksOfParticipants } from '../events/event-queries.js'
import type { Queryable } from '../platform/database/sql.js'
import type { Absence, RemovedConnection } from './connection.records.js'
import { type EmptySession, EmptySessions } from './empty-sessions.js'
import { leaverEvents, leaversOf, type LockedSession, lockSessions } from './leavers.js'

/** Connections that one transaction removes at most: it holds the locks of all their sessions. */
const MOST_REMOVED = 100

interface Departure {
  connectionId: string
  reason: DisconnectReason
  /** Only as a pending connection or participant of this session; null: of any one. */
  sessionId: string | null
  only: Absence | null
  traceContext: string | null
}

interface DeletedRow extends EventParticipant {
  /** Index of its departure. */
  index: number
  sessionId: string
  status: 'pending' | 'active' | 'awaited' | 'hidden'
  type: 'WEBRTC' | 'IPCAM'
  streamIds: string[]
  /** Its session has participants other than cameras and those that are deleted with it. */
  hasOthers: boolean
  /** It was the last camera of a session without other participants. */
  isLastCamera: boolean
}

const DELETE = new KeyedStatement<DeletedRow>(
  (isConnection) => `
  WITH deleted AS (
    DELETE FROM connection c
    USING unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r(id, absence, session_id, nth)
    WHERE c.id ${isConnection} AND c.id = r.id
      AND (r.absence IS NULL OR c.evict_at < clock_timestamp() OR r.absence = 'lost' AND c.evict_at IS NOT NULL)
      AND (r.session_id IS NULL OR c.session_id = r.session_id AND c.status IN ('pending', 'active'))
    RETURNING r.nth, c.*)
  SELECT d.nth::integer - 1 AS index, d.session_id AS "sessionId", d.status, d.type,
         d.id AS "connectionId", d.active_at AS "activeAt", d.location, d.ip, d.platform,
         d.client_data AS "clientData", d.server_data AS "serverData",
         ARRAY(SELECT p.id FROM stream p WHERE p.connection_id = d.id ORDER BY p.created_at, p.id) AS "streamIds",
         EXISTS (SELECT 1 FROM connection k
                 WHERE k.session_id = d.session_id AND k.status = 'active' AND k.type = 'WEBRTC'
                   AND k.id NOT IN (SELECT id FROM deleted)) AS "hasOthers",
         d.type = 'IPCAM' AND NOT EXISTS (SELECT 1 FROM connection k
           WHERE k.session_id = d.session_id AND k.status = 'active' AND k.id NOT IN (SELECT id FROM deleted)) AS "isLastCamera"
  FROM deleted d ORDER BY d.nth`,
)

/**
 * Removes participants, and with the last one its session. Hand-written: the statements lock the session's row and are on
 * the path of every leave. When many leave at once, one transaction removes all: with one each, they would wait for the
 * lock of the same session with all connections to the database.
 */
@Injectable()
export class DepartureRepository {
  readonly #departures: GroupCommit<Departure, RemovedConnection | 'gone'>

  constructor(
    private readonly events: EventLog,
    private readonly emptySessions: EmptySessions,
    private readonly clock: ClusterClock,
  ) {
    this.#departures = new GroupCommit(
      'departure',
      (items) => this.#removeAll(items),
      isLockingBatchFault,
      MOST_REMOVED,
    )
  }

  /**
   * Deletes a connection and, with the last active one, its session, in one transaction under the session's lock.
   * `only`: not when the participant has resumed.
   */
  async remove(
    connectionId: string,
    reason: DisconnectReason,
    { sessionId = null, only = null }: { sessionId?: string | null; only?: Absence | null | undefined } = {},
  ): Promise<RemovedConnection | undefined> {
    const traceContext = currentTraceparent() ?? null
    const removed = await this.#departures.add({ connectionId, reason, sessionId, only, traceContext })
    return removed === 'gone' ? undefined : removed
  }

  #removeAll(items: Departure[]): Promise<(RemovedConnection | 'gone')[]> {
    return this.events.transaction(async (manager, record) => {
      const ids = items.map(({ connectionId }) => connectionId)
      const sessions = await lockSessions(manager, ids)
      if (sessions.size === 0) return items.map(() => 'gone')
      const links = this.events.isOn ? await linksOfParticipants(manager, ids, [...sessions.keys()]) : []
      const deleted = await deleteConnections(manager, items)
      const participants = deleted.filter(({ status }) => status === 'active')
      const departed = leaverEvents(leaversOf(participants, items), sessions, links, this.clock.now())
      const last = lastOfSessions(deleted)
      const ended = await this.emptySessions.end(manager, record, emptiedBy(last, sessions, items), departed)
      await this.emptySessions.left(manager, leftOf(participants, sessions))
      await this.emptySessions.deserted(manager, desertedOf(deleted, sessions))
      const results: (RemovedConnection | 'gone')[] = items.map(() => 'gone')
      for (const row of deleted) {
        const session = sessions.get(row.sessionId)
        if (!session) continue
        const recordingIds = last.includes(row) ? ended.get(row.sessionId) : undefined
        const end = recordingIds && { sessionEnded: true, recordingIds }
        results[row.index] = { ...removedConnection(row, session), ...end }
      }
      return results
    })
  }
}

/** Deletes those that match, in the order of `items`. */
const deleteConnections = (manager: Queryable, items: readonly Departure[]): Promise<DeletedRow[]> =>
  DELETE.rows(
    manager,
    items.map(({ connectionId }) => connectionId),
    items.map(({ only }) => only),
    items.map((item) => item.sessionId),
  )

const removedConnection = (
  { connectionId, status, streamIds }: DeletedRow,
  { uniqueSessionId, place }: LockedSession,
): RemovedConnection => ({
  connectionId,
  roomId: uniqueSessionId,
  wasActive: status === 'active',
  wasHidden: status === 'hidden',
  streamIds,
  place,
  sessionEnded: false,
  recordingIds: [],
})

/** The sessions that these participants have left, with the requests that removed them. */
const emptiedBy = (
  last: readonly DeletedRow[],
  sessions: ReadonlyMap<string, LockedSession>,
  items: readonly Departure[],
): EmptySession[] =>
  last.flatMap(({ index, sessionId }) => {
    const [session, item] = [sessions.get(sessionId), items[index]]
    return session && item ? [{ session, reason: item.reason, traceContext: item.traceContext }] : []
  })

/** The last participants of the sessions that have none any more; cameras do not count. */
function lastOfSessions(deleted: readonly DeletedRow[]): DeletedRow[] {
  const leavers = deleted.filter(
    ({ status, type, hasOthers }) => status === 'active' && type === 'WEBRTC' && !hasOthers,
  )
  return [...new Map(leavers.map((row) => [row.sessionId, row])).values()]
}

/** The sessions that participants have left, cameras apart, and others not. */
function leftOf(participants: readonly DeletedRow[], sessions: ReadonlyMap<string, LockedSession>): LockedSession[] {
  const left = participants.filter(({ type, hasOthers }) => type === 'WEBRTC' && hasOthers)
  const ids = new Set(left.map(({ sessionId }) => sessionId))
  return [...sessions.values()].filter(({ id }) => ids.has(id))
}

/** The uses of sessions that stay without participants. */
const desertedOf = (deleted: readonly DeletedRow[], sessions: ReadonlyMap<string, LockedSession>): string[] =>
  deleted.flatMap(({ isLastCamera, sessionId }) => {
    const session = isLastCamera && sessions.get(sessionId)
    return session ? [session.uniqueSessionId] : []
  })
