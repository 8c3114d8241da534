import { PAGE_SIZE, type DeadLetterRow, type Page } from '@session-service/contract/dashboard'
import { firstRow, type Queryable } from '../../../platform/database/sql.js'

/** One page of the events that were given up, the latest first. The index of dead letters bounds the read. */
export async function deadLetterRows(queryable: Queryable, page: number): Promise<Page<DeadLetterRow>> {
  const found = await firstRow<Page<DeadLetterRow>>(
    queryable,
    `SELECT (SELECT count(*)::int FROM outbox o WHERE o.dead_at IS NOT NULL) AS total,
       (SELECT coalesce(json_agg(row), '[]') FROM (
          SELECT o.id, o.created_at AS "createdAt", o.name, o.payload::json->>'sessionId' AS "sessionId", o.payload,
                 o.attempts, o.last_error AS "lastError",
                 (extract(epoch FROM o.dead_at) * 1000)::bigint AS "deadAt"
          FROM outbox o WHERE o.dead_at IS NOT NULL
          ORDER BY o.dead_at DESC, o.position DESC LIMIT $1 OFFSET $2) row) AS rows`,
    [PAGE_SIZE, (page - 1) * PAGE_SIZE],
  )
  return found ?? { total: 0, rows: [] }
}
