import { PAGE_SIZE, type LiveQuery, type Page, type SessionRow } from '@session-service/contract/dashboard'
import { firstRow, type Queryable } from '../../../platform/database/sql.js'

/** The order of each sort, by columns of the session `s` and of its connections `a`. */
const ORDERS: Record<LiveQuery<'sessions'>['sort'], string> = {
  newest: 's.created_at DESC, s.id DESC',
  oldest: 's.created_at, s.id',
  participants: 'a.participants DESC NULLS LAST, s.created_at DESC, s.id DESC',
  quality: 'a.quality NULLS LAST, s.created_at DESC, s.id DESC',
}

/** Counts the connections of all sessions: cheaper than once for each session where all of them are sorted. */
const WITH_CONNECTIONS = `LEFT JOIN (
  SELECT c.session_id, count(*) AS participants, min((c.network_quality->>'level')::int) AS quality
  FROM connection c WHERE c.status = 'active' GROUP BY c.session_id) a ON a.session_id = s.id`

/** The row of a session `s`. Tables of several features are read here, which no feature does for lists. */
const SESSION = `s.id, s.created_at AS "createdAt", s.media_node_id AS "mediaNodeId",
  (SELECT count(*) FROM connection c WHERE c.session_id = s.id AND c.status = 'active') AS participants,
  (SELECT count(*) FROM stream p WHERE p.session_id = s.id) AS streams,
  EXISTS (SELECT 1 FROM recording r WHERE r.unique_session_id = s.unique_id AND r.status = 'started') AS "isRecorded",
  s.transcription_lang IS NOT NULL AS "isTranscribed",
  (SELECT min((c.network_quality->>'level')::int) FROM connection c
   WHERE c.session_id = s.id AND c.status = 'active') AS quality`

interface SessionFilter extends LiveQuery<'sessions'> {
  prefix: string
  mediaNodeId?: string
  limit?: number
}

/** One page of the sessions that match, and the number of all of them. */
export async function sessionRows(
  queryable: Queryable,
  { prefix, search, sort, page, mediaNodeId, limit = PAGE_SIZE }: SessionFilter,
): Promise<Page<SessionRow>> {
  const matches = `starts_with(s.id, $1) AND strpos(lower(s.id), lower($2)) > 0
    AND ($3::text IS NULL OR s.media_node_id = $3)`
  const needsConnections = sort === 'participants' || sort === 'quality'
  const found = await firstRow<Page<SessionRow>>(
    queryable,
    `SELECT (SELECT count(*)::int FROM session s WHERE ${matches}) AS total,
       (SELECT coalesce(json_agg(row), '[]') FROM (
          SELECT ${SESSION} FROM (
            SELECT s.* FROM session s ${needsConnections ? WITH_CONNECTIONS : ''} WHERE ${matches}
            ORDER BY ${ORDERS[sort]} LIMIT $4 OFFSET $5) s) row) AS rows`,
    [prefix, search, mediaNodeId ?? null, limit, (page - 1) * limit],
  )
  return found ?? { total: 0, rows: [] }
}
