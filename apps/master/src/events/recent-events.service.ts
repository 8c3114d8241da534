import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { columns, execute, type Queryable, rows } from '../platform/database/sql.js'
import { Job } from '../platform/jobs/job.js'
import type { EventDraft } from './event-drafts.js'
import { RecentEventEntity } from './recent-event.entity.js'

const PURGE_EVERY_MS = 10_000
const MAX_AGE_S = 3_600
const MAX_ROWS = 10_000
/** Longer members of a payload are cut: signals may have much data. */
const MAX_TEXT = 1_000

const FIELDS = ['id', 'createdAt', 'name', 'sessionId', 'payload'] as const
type RecentEvent = Pick<RecentEventEntity, (typeof FIELDS)[number]>
const RECENT = columns(RecentEventEntity, 'e', FIELDS)

interface RecentEventFilter {
  /** Only of sessions whose ids start with it; events of the cluster only when it is empty. */
  prefix?: string
  sessionId?: string
  name?: string
  /** Part of the id, the name or the payload. */
  search?: string
  limit: number
}

const cut = (_: string, value: unknown): unknown =>
  typeof value === 'string' && value.length > MAX_TEXT ? `${value.slice(0, MAX_TEXT)}…` : value

/** Inserts events in the transaction of their change. */
export async function insertRecent(
  manager: Queryable,
  events: readonly ({ id: string } & Pick<EventDraft, 'name' | 'payload'>)[],
): Promise<void> {
  if (events.length === 0) return
  await execute(
    manager,
    `INSERT INTO recent_event (id, name, session_id, payload, created_at)
     SELECT r.id, r.name, r.session_id, r.payload, r.created_at
     FROM unnest($1::text[], $2::text[], $3::text[], $4::text[], $5::bigint[])
       WITH ORDINALITY AS r(id, name, session_id, payload, created_at, nth) ORDER BY r.nth`,
    [
      events.map(({ id }) => id),
      events.map(({ name }) => name),
      events.map(({ payload }) => ('sessionId' in payload ? payload.sessionId : null)),
      events.map(({ payload }) => JSON.stringify(payload, cut)),
      events.map(({ payload }) => payload.timestamp),
    ],
  )
}

/** The events of the last hour, which are stored while the dashboard is enabled. */
@Injectable()
export class RecentEvents {
  constructor(private readonly dataSource: DataSource) {}

  /** The latest first. Hand-written: a search looks into the JSON, where it ignores the case of ASCII letters. */
  find({ prefix = '', sessionId, name = '', search = '', limit }: RecentEventFilter): Promise<RecentEvent[]> {
    return rows<RecentEvent>(
      this.dataSource,
      `SELECT ${RECENT} FROM recent_event e
       WHERE ($1 = '' OR starts_with(e.session_id, $1)) AND ($2::text IS NULL OR e.session_id = $2)
         AND ($3 = '' OR e.name = $3)
         AND ($4 = '' OR strpos(lower(concat_ws(' ', e.id, e.name, e.payload) COLLATE "C"), lower($4 COLLATE "C")) > 0)
       ORDER BY e.position DESC LIMIT $5`,
      [prefix, sessionId ?? null, name, search, limit],
    )
  }

  /** Also while the dashboard is disabled. */
  @Job({ name: 'old recent events', scope: 'leader', everyMs: PURGE_EVERY_MS, due: 'SELECT 1 FROM recent_event' })
  async purge(): Promise<void> {
    await execute(
      this.dataSource,
      `DELETE FROM recent_event WHERE stored_at < clock_timestamp() - $1 * interval '1 second'
         OR position <= (SELECT e.position FROM recent_event e ORDER BY e.position DESC OFFSET $2 LIMIT 1)`,
      [MAX_AGE_S, MAX_ROWS],
    )
  }
}
