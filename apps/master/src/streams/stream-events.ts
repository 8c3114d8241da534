import type { WebrtcEndReason } from '@session-service/contract'
import { type EventDraft, type EventSession, webrtcDestroyed } from '../events/event-drafts.js'
import type { EventLog } from '../events/event-log.js'
import { type Queryable, rows } from '../platform/database/sql.js'

export type SessionIds = Pick<EventSession, 'id' | 'uniqueSessionId'>

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

export interface EndedStream {
  streamId: string
  reason: WebrtcEndReason
  endTime: number
}

/** The events for the end of a stream: of its subscribers, then of its publisher. */
export async function streamEndEvents(
  events: EventLog,
  queryable: Queryable,
  { streamId, reason, endTime }: EndedStream,
): Promise<EventDraft[]> {
  const session = (await sessionsOfStreams(queryable, [streamId])).get(streamId)
  const links = await events.links(queryable, () => 'p.id = $1', [streamId])
  return session ? links.map((link) => webrtcDestroyed(session, link, reason, endTime)) : []
}
