import type { StreamDestroyedReason, StreamInfo } from '@session-service/contract'
import { execute, type Queryable, rows } from '../platform/database/sql.js'
import { STREAM_INFO } from './stream-columns.js'

/** The most filters of a connection that stay without a stream: a client decides how many it leaves. */
const MOST_KEPT_FILTERS = 8

/** A stream to delete. */
export interface EndedStream {
  sessionId: string
  streamId: string
  reason: StreamDestroyedReason
  /** Only if this connection publishes it; null: for any publisher. */
  connectionId: string | null
  /** Its filter stays for the next publication of the stream. */
  keepFilter: boolean
  traceContext: string | null
}

/** `index` is that of its EndedStream. */
type DeletedStream = StreamInfo & { index: number }

/** Deletes the streams that match, but none of cameras, with their filters; each for the first of `ended` that names it. */
export async function deleteStreams(manager: Queryable, ended: readonly EndedStream[]): Promise<DeletedStream[]> {
  const [ids, publishers] = [ended.map(({ streamId }) => streamId), ended.map(({ connectionId }) => connectionId)]
  const deleted = await rows<DeletedStream>(
    manager,
    `WITH first AS (
       SELECT DISTINCT ON (p.id) p.id, r.nth
       FROM unnest($1::text[], $2::text[], $3::text[]) WITH ORDINALITY AS r(id, session_id, connection_id, nth)
       JOIN stream p ON p.id = r.id AND p.session_id = r.session_id
         AND (r.connection_id IS NULL OR p.connection_id = r.connection_id)
       WHERE NOT EXISTS (SELECT 1 FROM connection c WHERE c.id = p.connection_id AND c.type = 'IPCAM')
       ORDER BY p.id, r.nth),
     deleted AS (DELETE FROM stream p USING first WHERE p.id = first.id
                 RETURNING first.nth::integer - 1 AS index, ${STREAM_INFO})
     SELECT * FROM deleted ORDER BY index`,
    [ids, ended.map(({ sessionId }) => sessionId), publishers],
  )
  const isDeleted = new Set(deleted.map(({ index }) => index))
  // The streams first, in the order in which filters are changed.
  await execute(
    manager,
    `DELETE FROM stream_filter f
     USING unnest($1::text[], $2::boolean[], $3::text[], $4::boolean[]) AS r(stream_id, is_deleted, connection_id, keeps)
     WHERE f.stream_id = r.stream_id AND (r.is_deleted OR f.connection_id = r.connection_id)
       AND NOT (r.keeps AND (SELECT count(*) FROM stream_filter k WHERE k.connection_id = f.connection_id
         AND NOT EXISTS (SELECT 1 FROM stream p WHERE p.id = k.stream_id)) <= ${MOST_KEPT_FILTERS})`,
    [ids, ended.map((_, index) => isDeleted.has(index)), publishers, ended.map(({ keepFilter }) => keepFilter)],
  )
  return deleted
}
