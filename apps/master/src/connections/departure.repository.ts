import type { DisconnectReason } from '@session-service/contract'
import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { execute, firstRow, rows } from '../platform/database/sql.js'
import { departures, type EventDraft, type EventParticipant, type WebrtcLink } from '../events/event-drafts.js'
import { EventLog, inTrace, type Manager } from '../events/event-log.js'
import type { Absence, RemovedConnection, TokenRelease } from './connection.records.js'
import { EmptySessions, type LockedSession } from './empty-sessions.js'
import { RECORDER_AWAITED_S } from './recorder.repository.js'

const NOTHING_ENDED: TokenRelease = { place: null, sessionEnded: false, recordingIds: [] }

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
}

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
    this.#departures = new GroupCommit('departure', (items) => this.#removeAll(items), isBatchFault, MOST_REMOVED)
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
      const sessions = await this.#lockSessions(manager, ids)
      if (sessions.size === 0) return items.map(() => 'gone')
      const links = this.events.isOn ? await this.#links(manager, ids, [...sessions.keys()]) : []
      const deleted = await deleteConnections(manager, items)
      const now = this.clock.now()
      await record(...this.#departureEvents(deleted, sessions, links, items, now))
      const results: (RemovedConnection | 'gone')[] = items.map(() => 'gone')
      for (const row of deleted) {
        const session = sessions.get(row.sessionId)
        if (session) results[row.index] = removedConnection(row, session)
      }
      for (const row of lastOfSessions(deleted)) {
        const [removed, session, item] = [results[row.index], sessions.get(row.sessionId), items[row.index]]
        if (!session || !item || !removed || removed === 'gone') continue
        const traced = inTrace(record, item.traceContext)
        const recordingIds = await this.emptySessions.end(manager, traced, session, item.reason)
        if (recordingIds) Object.assign(removed, { sessionEnded: true, recordingIds })
      }
      return results
    })
  }

  /** Locks the sessions of connections against joins and departures, in the order of ids: no two changes deadlock. */
  async #lockSessions(manager: Manager, connectionIds: string[]): Promise<Map<string, LockedSession>> {
    const locked = await rows<LockedSession>(
      manager,
      `SELECT s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt",
              CASE WHEN s.media_node_id IS NOT NULL THEN json_build_object(
                'nodeId', s.media_node_id, 'bootId', s.media_node_boot_id, 'epoch', s.media_epoch) END AS place
       FROM session s WHERE s.id IN (SELECT session_id FROM connection WHERE id = ANY($1)) ORDER BY s.id FOR UPDATE`,
      [connectionIds],
    )
    return new Map(locked.map((session) => [session.id, session]))
  }

  /** The media of participants, and that which others receive from them. */
  #links(manager: Manager, connectionIds: string[], sessionIds: string[]): Promise<WebrtcLink[]> {
    return this.events.links(
      manager,
      (receiver) => `p.session_id = ANY($2) AND (p.connection_id = ANY($1) OR ${receiver} = ANY($1))`,
      [connectionIds, sessionIds],
    )
  }

  /** The events of the departures, one after another; none of connections that are no participants. */
  #departureEvents(
    deleted: readonly DeletedRow[],
    sessions: ReadonlyMap<string, LockedSession>,
    links: readonly WebrtcLink[],
    items: readonly Departure[],
    now: number,
  ): EventDraft[] {
    let remaining = links
    return deleted.flatMap((row) => {
      const [session, item] = [sessions.get(row.sessionId), items[row.index]]
      if (!this.events.isOn || row.status !== 'active' || !session || !item) return []
      const events = departures(session, [row], remaining, item.reason, now)
      remaining = remaining.filter(
        ({ connectionId, publisherId }) => connectionId !== row.connectionId && publisherId !== row.connectionId,
      )
      return events.map((event) => ({ ...event, traceContext: item.traceContext }))
    })
  }

  /**
   * Makes the token usable again after a failed join. Other participants may have left meanwhile without ending the
   * session, because this one counted as present: a recorded session that is empty now ends as with its last
   * participant. A session that had no participant before stays.
   */
  releaseToken(connectionId: string): Promise<TokenRelease> {
    return this.events.transaction(async (manager, record) => {
      const [session] = (await this.#lockSessions(manager, [connectionId])).values()
      if (!session) return NOTHING_ENDED
      const leaving = this.events.isOn ? await this.#released(manager, session, connectionId) : []
      const row = await firstRow<{ status: string }>(
        manager,
        `UPDATE connection SET status = CASE status WHEN 'hidden' THEN 'awaited' ELSE 'pending' END,
                active_at = NULL, client_data = NULL, ip = NULL, platform = NULL,
                location = NULL, resume_hash = NULL, master_id = NULL,
                evict_at = CASE status WHEN 'hidden' THEN clock_timestamp() + $2 * interval '1 second' END
         WHERE id = $1 RETURNING status`,
        [connectionId, RECORDER_AWAITED_S],
      )
      await record(...leaving)
      if (row?.status === 'pending') await forgetStart(manager, session.id)
      if (row?.status !== 'pending' || !(await isRecorded(manager, session.uniqueSessionId))) return NOTHING_ENDED
      const ended = await this.emptySessions.endIfEmpty(manager, record, session, 'networkDisconnect')
      return { place: session.place, sessionEnded: ended !== undefined, recordingIds: ended ?? [] }
    })
  }

  /** Events of a participant whose join is undone; none when the connection is not a participant. */
  async #released(manager: Manager, session: LockedSession, connectionId: string): Promise<EventDraft[]> {
    const leavers = await this.events.participants(manager, 'c.id = $1', [connectionId])
    const links = await this.#links(manager, [connectionId], [session.id])
    return departures(session, leavers, links, 'networkDisconnect', this.clock.now())
  }
}

/** Deletes those that match, in the order of `items`. */
async function deleteConnections(manager: Manager, items: readonly Departure[]): Promise<DeletedRow[]> {
  return rows<DeletedRow>(
    manager,
    `WITH deleted AS (
       DELETE FROM connection c
       USING unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r(id, absence, session_id, nth)
       WHERE c.id = r.id
         AND (r.absence IS NULL OR c.evict_at < clock_timestamp() OR r.absence = 'lost' AND c.evict_at IS NOT NULL)
         AND (r.session_id IS NULL OR c.session_id = r.session_id AND c.status IN ('pending', 'active'))
       RETURNING r.nth, c.*)
     SELECT d.nth::integer - 1 AS index, d.session_id AS "sessionId", d.status, d.type,
            d.id AS "connectionId", d.active_at AS "activeAt", d.location, d.ip, d.platform,
            d.client_data AS "clientData", d.server_data AS "serverData",
            ARRAY(SELECT p.id FROM stream p WHERE p.connection_id = d.id ORDER BY p.created_at, p.id) AS "streamIds",
            EXISTS (SELECT 1 FROM connection k
                    WHERE k.session_id = d.session_id AND k.status = 'active' AND k.type = 'WEBRTC'
                      AND k.id NOT IN (SELECT id FROM deleted)) AS "hasOthers"
     FROM deleted d ORDER BY d.nth`,
    [items.map(({ connectionId }) => connectionId), items.map(({ only }) => only), items.map((item) => item.sessionId)],
  )
}

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

/** The last participants of the sessions that have none any more; cameras do not count. */
function lastOfSessions(deleted: readonly DeletedRow[]): DeletedRow[] {
  const leavers = deleted.filter(
    ({ status, type, hasOthers }) => status === 'active' && type === 'WEBRTC' && !hasOthers,
  )
  return [...new Map(leavers.map((row) => [row.sessionId, row])).values()]
}

/** The maximum duration of a session that no participant has joined does not run: a session that was left has ended. */
async function forgetStart(manager: Manager, sessionId: string): Promise<void> {
  await execute(
    manager,
    `UPDATE session s SET ends_at = NULL WHERE s.id = $1 AND s.ends_at IS NOT NULL AND NOT s.was_emptied
       AND NOT EXISTS (SELECT 1 FROM connection c
                       WHERE c.session_id = s.id AND c.status = 'active' AND c.type = 'WEBRTC')`,
    [sessionId],
  )
}

/** Whether a recording runs without an automatic stop scheduled. */
async function isRecorded(manager: Manager, uniqueSessionId: string): Promise<boolean> {
  const recording = await firstRow<{ id: string }>(
    manager,
    `SELECT id FROM recording
     WHERE unique_session_id = $1 AND status IN ('starting', 'started') AND autostop_at IS NULL LIMIT 1`,
    [uniqueSessionId],
  )
  return recording !== undefined
}
