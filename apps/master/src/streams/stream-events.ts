import type { WebrtcEndReason } from '@session-service/contract'
import { type EventDraft, type EventSession, webrtcDestroyed } from '../events/event-drafts.js'
import type { EventLog } from '../events/event-log.js'
import { firstRow, type Queryable } from '../platform/database/sql.js'

export type SessionIds = Pick<EventSession, 'id' | 'uniqueSessionId'>

/** The names of a stream's session in events. */
export function sessionOfStream(queryable: Queryable, streamId: string): Promise<SessionIds | undefined> {
  return firstRow<SessionIds>(
    queryable,
    `SELECT s.id, s.unique_id AS "uniqueSessionId" FROM session s JOIN stream p ON p.session_id = s.id WHERE p.id = $1`,
    [streamId],
  )
}

export interface EndedStream {
  streamId: string
  reason: WebrtcEndReason
  endTime: number
  /** Only this connection's subscription; else all subscriptions and the publication. */
  subscriberId?: string
}

/** The events for the end of a stream: of its subscribers, then of its publisher. */
export async function streamEndEvents(
  events: EventLog,
  queryable: Queryable,
  { streamId, reason, endTime, subscriberId }: EndedStream,
): Promise<EventDraft[]> {
  const session = await sessionOfStream(queryable, streamId)
  const links = await events.links(
    queryable,
    (connection) => `p.id = $1 AND ($2::text IS NULL OR (${connection} = $2 AND p.connection_id <> $2))`,
    [streamId, subscriberId ?? null],
  )
  return session ? links.map((link) => webrtcDestroyed(session, link, reason, endTime)) : []
}
