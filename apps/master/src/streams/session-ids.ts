import type { EventSession } from '../events/event-drafts.js'
import { type Queryable, rows } from '../platform/database/sql.js'

export type SessionIds = Pick<EventSession, 'id' | 'uniqueSessionId'>

/** The names of sessions in events, by their ids. */
export async function sessionsById(queryable: Queryable, ids: string[]): Promise<Map<string, SessionIds>> {
  const sessions = await rows<SessionIds>(
    queryable,
    'SELECT id, unique_id AS "uniqueSessionId" FROM session WHERE id = ANY($1)',
    [ids],
  )
  return new Map(sessions.map((session) => [session.id, session]))
}

/** The names of the sessions of streams in events, by the ids of the streams. */
export async function sessionsOfStreams(queryable: Queryable, streamIds: string[]): Promise<Map<string, SessionIds>> {
  const sessions = await rows<SessionIds & { streamId: string }>(
    queryable,
    `SELECT p.id AS "streamId", s.id, s.unique_id AS "uniqueSessionId"
     FROM session s JOIN stream p ON p.session_id = s.id WHERE p.id = ANY($1)`,
    [streamIds],
  )
  return new Map(sessions.map(({ streamId, ...session }) => [streamId, session]))
}
