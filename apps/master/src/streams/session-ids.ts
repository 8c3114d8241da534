import type { EventSession } from '../events/event-drafts.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import type { Queryable } from '../platform/database/sql.js'

export type SessionIds = Pick<EventSession, 'id' | 'uniqueSessionId'>

const BY_ID = new KeyedStatement<SessionIds>(
  (is) => `SELECT id, unique_id AS "uniqueSessionId" FROM session WHERE id ${is}`,
)
const BY_STREAM = new KeyedStatement<SessionIds & { streamId: string }>(
  (is) => `SELECT p.id AS "streamId", s.id, s.unique_id AS "uniqueSessionId"
    FROM session s JOIN stream p ON p.session_id = s.id WHERE p.id ${is}`,
)

/** The names of sessions in events, by their ids. */
export async function sessionsById(queryable: Queryable, ids: string[]): Promise<Map<string, SessionIds>> {
  const sessions = await BY_ID.rows(queryable, ids)
  return new Map(sessions.map((session) => [session.id, session]))
}

/** The names of the sessions of streams in events, by the ids of the streams. */
export async function sessionsOfStreams(queryable: Queryable, streamIds: string[]): Promise<Map<string, SessionIds>> {
  const sessions = await BY_STREAM.rows(queryable, streamIds)
  return new Map(sessions.map(({ streamId, ...session }) => [streamId, session]))
}
