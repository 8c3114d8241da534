import { rowsBySession } from '../platform/database/group-read.js'
import { KeyedStatement } from '../platform/database/keyed-statement.js'
import { firstRow, type Queryable, rows } from '../platform/database/sql.js'
import {
  departures,
  type EventDraft,
  type EventParticipant,
  type EventSession,
  type SessionEnd,
  type WebrtcLink,
} from './event-drafts.js'

// Select lists of tables that higher layers own: their entities cannot be imported here.
const LINK = `p.session_id AS "sessionId", p.id AS "streamId", p.connection_id AS "publisherId", p.media_options AS "mediaOptions",
  (SELECT publisher.camera->>'publicUri' FROM connection publisher WHERE publisher.id = p.connection_id) AS "rtspUri"`
const PARTICIPANTS = new KeyedStatement<EventParticipant & { sessionId: string }>(
  (
    is,
  ) => `SELECT c.session_id AS "sessionId", c.id AS "connectionId", c.active_at AS "activeAt", c.location, c.ip, c.platform,
      c.client_data AS "clientData", c.server_data AS "serverData"
    FROM connection c WHERE c.session_id ${is} AND c.status = 'active' ORDER BY c.active_at, c.id`,
)

type SessionLink = WebrtcLink & { sessionId: string }
type ReadLinks = (queryable: Queryable, ...keys: (readonly string[])[]) => Promise<SessionLink[]>

/**
 * Reads the media that matches a condition on the stream row `p` and the id of its receiver or publisher, a column that
 * `condition` gets; the values are arrays of keys. Without subscriptions of recorders. Inbound first.
 */
export function linksWhere(condition: (participantId: string) => string): ReadLinks {
  const sql = `SELECT * FROM (
      SELECT ${LINK}, u.connection_id AS "connectionId", true AS "isInbound", u.created_at AS "startTime"
      FROM subscription u JOIN stream p ON p.id = u.stream_id
        JOIN connection k ON k.id = u.connection_id AND k.status = 'active'
      WHERE ${condition('u.connection_id')}
      UNION ALL
      SELECT ${LINK}, p.connection_id, false, p.created_at FROM stream p WHERE ${condition('p.connection_id')}
    ) link ORDER BY "isInbound" DESC, "startTime", "streamId", "connectionId"`
  return (queryable, ...keys) => rows<SessionLink>(queryable, sql, keys)
}
const readLinksOfSessions = linksWhere(() => 'p.session_id = ANY($1)')

/** The session's ids and its time of creation, as events show them. */
export const eventSession = (queryable: Queryable, id: string): Promise<EventSession | undefined> =>
  firstRow<EventSession>(
    queryable,
    'SELECT s.id, s.unique_id AS "uniqueSessionId", s.created_at AS "createdAt" FROM session s WHERE s.id = $1',
    [id],
  )

/** The participants of sessions in the order in which they joined, by the ids of the sessions. */
export const participantsOfSessions = async (
  queryable: Queryable,
  sessionIds: readonly string[],
): Promise<Map<string, EventParticipant[]>> => rowsBySession(await PARTICIPANTS.rows(queryable, sessionIds))

/** The media of all participants of sessions, by the ids of the sessions. */
export const linksOfSessions = async (
  queryable: Queryable,
  sessionIds: readonly string[],
): Promise<Map<string, WebrtcLink[]>> => rowsBySession(await readLinksOfSessions(queryable, sessionIds))

/** The departures of all participants of sessions that end, by the ids of the sessions. */
export async function departuresFrom(
  queryable: Queryable,
  ends: readonly SessionEnd[],
  now: number,
): Promise<Map<string, EventDraft[]>> {
  if (ends.length === 0) return new Map()
  const participants = await participantsOfSessions(
    queryable,
    ends.map(({ session }) => session.id),
  )
  if (participants.size === 0) return new Map()
  const links = await linksOfSessions(queryable, [...participants.keys()])
  return new Map(
    ends.map(({ session, reason }) => {
      const [own, media] = [participants.get(session.id) ?? [], links.get(session.id) ?? []]
      return [session.id, departures(session, own, media, reason, now)]
    }),
  )
}

/** The media of participants, by their ids, and that which others receive from them; second the ids of their sessions. */
export const linksOfParticipants = linksWhere(
  (receiver) => `p.session_id = ANY($2) AND (p.connection_id = ANY($1) OR ${receiver} = ANY($1))`,
)
