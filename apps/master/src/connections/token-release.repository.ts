import { currentTraceparent } from '@session-service/server-kit'
import { Injectable } from '@nestjs/common'
import type { EventParticipant } from '../events/event-drafts.js'
import { EventLog } from '../events/event-log.js'
import { linksOfParticipants } from '../events/event-queries.js'
import { ClusterClock } from '../platform/database/cluster-clock.js'
import { isLockingBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { execute, type Queryable, rows } from '../platform/database/sql.js'
import type { TokenRelease } from './connection.records.js'
import { type EmptySession, EmptySessions } from './empty-sessions.js'
import { leaverEvents, leaversOf, lockSessions } from './leavers.js'
import { RECORDER_AWAITED_S } from './recorder.repository.js'

const NOTHING_ENDED: TokenRelease = { place: null, sessionEnded: false, recordingIds: [] }
const REASON = 'networkDisconnect'

/** Tokens that one transaction releases at most: it holds the locks of all their sessions. */
const MOST_RELEASED = 100

interface FailedJoin {
  connectionId: string
  reason: typeof REASON
  traceContext: string | null
}

interface ReleasedRow extends EventParticipant {
  /** Index of its failed join. */
  index: number
  sessionId: string
  /** Backends have received that it joined. */
  wasActive: boolean
  /** It is the connection of a recorder. */
  isHidden: boolean
}

/** Values from before the update, for the events. */
const RELEASE = `
  WITH former AS (
         SELECT c.*, r.nth FROM unnest($1::text[]) WITH ORDINALITY AS r(id, nth) JOIN connection c USING (id)),
       released AS (UPDATE connection c
         SET status = CASE c.status WHEN 'hidden' THEN 'awaited' ELSE 'pending' END,
             active_at = NULL, client_data = NULL, ip = NULL, platform = NULL,
             location = NULL, resume_hash = NULL, master_id = NULL,
             evict_at = CASE c.status WHEN 'hidden' THEN clock_timestamp() + $2 * interval '1 second' END
         FROM former f WHERE c.id = f.id
         RETURNING f.nth::integer - 1 AS index, f.session_id AS "sessionId", f.status = 'active' AS "wasActive",
                   c.status = 'awaited' AS "isHidden", f.id AS "connectionId", f.active_at AS "activeAt",
                   f.location, f.ip, f.platform, f.client_data AS "clientData", f.server_data AS "serverData")
  SELECT * FROM released ORDER BY index`

/** Participants, cameras apart, of the session `s`. */
const PARTICIPANTS = `SELECT FROM connection c
  WHERE c.session_id = s.id AND c.status = 'active' AND c.type = 'WEBRTC'`

/** Recordings of the session `s` that start or run. */
const RECORDINGS = `SELECT FROM recording r
  WHERE r.unique_session_id = s.unique_id AND r.status IN ('starting', 'started')`

/** Those that a recording has kept end with it, or now, when it has ended during the join. */
const EMPTIED = `SELECT s.id FROM session s
  WHERE s.id = ANY($1) AND NOT EXISTS (${PARTICIPANTS})
    AND (s.was_left OR s.was_emptied AND NOT EXISTS (${RECORDINGS})
         OR EXISTS (${RECORDINGS} AND r.autostop_at IS NULL))`

/**
 * Makes tokens usable again after failed joins. Hand-written: the statements lock the session's row. When a media node
 * fails, the joins of many fail at once, and one transaction releases the tokens of all.
 */
@Injectable()
export class TokenReleaseRepository {
  readonly #releases: GroupCommit<FailedJoin, TokenRelease>

  constructor(
    private readonly events: EventLog,
    private readonly emptySessions: EmptySessions,
    private readonly clock: ClusterClock,
  ) {
    this.#releases = new GroupCommit(
      'release',
      (failed) => this.#releaseAll(failed),
      isLockingBatchFault,
      MOST_RELEASED,
    )
  }

  /**
   * Other participants may have left meanwhile without ending the session, because this one counted as present: a
   * session that is empty now ends as with its last participant. A session that had no participant before stays.
   */
  release(connectionId: string): Promise<TokenRelease> {
    return this.#releases.add({ connectionId, reason: REASON, traceContext: currentTraceparent() ?? null })
  }

  #releaseAll(failed: FailedJoin[]): Promise<TokenRelease[]> {
    return this.events.transaction(async (manager, record) => {
      const results = failed.map(() => NOTHING_ENDED)
      const ids = failed.map(({ connectionId }) => connectionId)
      const sessions = await lockSessions(manager, ids)
      if (sessions.size === 0) return results
      const links = this.events.isOn ? await linksOfParticipants(manager, ids, [...sessions.keys()]) : []
      const released = await releaseTokens(manager, ids)
      const participants = released.filter(({ wasActive }) => wasActive)
      const departed = leaverEvents(leaversOf(participants, failed), sessions, links, this.clock.now())
      // Connections of recorders do not keep a session.
      const visible = released.filter(({ isHidden }) => !isHidden)
      const emptied = await this.#emptied(manager, visible)
      const empty = emptied.flatMap(([id, { index }]): EmptySession[] => {
        const session = sessions.get(id)
        return session ? [{ session, reason: REASON, traceContext: failed[index]?.traceContext ?? null }] : []
      })
      const ended = await this.emptySessions.end(manager, record, empty, departed)
      for (const [id, { index }] of emptied) {
        const recordingIds = ended.get(id)
        if (recordingIds) results[index] = { place: sessions.get(id)?.place ?? null, sessionEnded: true, recordingIds }
      }
      return results
    })
  }

  /**
   * The sessions that have no participant any more and that no recording keeps until its automatic stop, each with the
   * last of its failed joins.
   */
  async #emptied(manager: Queryable, released: readonly ReleasedRow[]): Promise<[id: string, last: ReleasedRow][]> {
    const last = new Map(released.map((row) => [row.sessionId, row]))
    const sessionIds = [...last.keys()]
    await forgetStarts(manager, sessionIds)
    const emptied = await rows<{ id: string }>(manager, EMPTIED, [sessionIds])
    return [...last].filter(([id]) => emptied.some((session) => session.id === id))
  }
}

/** In the order of the failed joins. */
const releaseTokens = (manager: Queryable, connectionIds: readonly string[]): Promise<ReleasedRow[]> =>
  rows<ReleasedRow>(manager, RELEASE, [connectionIds, RECORDER_AWAITED_S])

/** The maximum duration of a session that no participant has joined does not run: a session that was left has ended. */
async function forgetStarts(manager: Queryable, sessionIds: readonly string[]): Promise<void> {
  await execute(
    manager,
    `UPDATE session s SET ends_at = NULL WHERE s.id = ANY($1) AND s.ends_at IS NOT NULL
       AND NOT (s.was_emptied OR s.was_left) AND NOT EXISTS (${PARTICIPANTS})`,
    [sessionIds],
  )
}
