import { DeadLetterView, isClusterEvent, WebhookBody } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { updated } from '../platform/database/updated.js'

export interface QueuedEvent {
  position: number
  id: string
  name: string
  sessionKey: string
  payload: string
  attempts: number
}

const QUEUED = `o.position, o.id, o.name, o.session_key AS "sessionKey", o.payload, o.attempts`
/** Any number that nothing else in the database locks. */
const CDR_LOCK = 7_230_004
const MOST_DEAD_LETTERS = 1_000
/** An event waits at most this long, s, for one that should come before it and is still to be posted. */
const FORERUNNER_WAIT_S = 15

interface DeadRow {
  id: string
  name: string
  sessionKey: string
  createdAt: number
  attempts: number
  lastError: string
  payload: string
}

@Injectable()
export class OutboxRepository {
  constructor(private readonly dataSource: DataSource) {}

  /**
   * Claims due events for `leaseMs`, each the first of its session: a session's next one waits until it is out. One that
   * should follow another waits for that one's first attempt: what a backend does not take holds no other session up.
   * A claim that is not settled, because its master died, becomes due again.
   */
  claim(limit: number, leaseMs: number): Promise<QueuedEvent[]> {
    return updated<QueuedEvent>(
      this.dataSource.manager,
      `UPDATE outbox o SET next_attempt_at = clock_timestamp() + $2 * interval '1 millisecond'
       FROM (SELECT h.position FROM outbox h
             WHERE h.consumer = 'webhook' AND h.dead_at IS NULL AND h.next_attempt_at <= clock_timestamp()
               AND NOT EXISTS (SELECT 1 FROM outbox e WHERE e.consumer = 'webhook' AND e.dead_at IS NULL
                               AND e.session_key = h.session_key AND e.position < h.position)
               AND NOT EXISTS (SELECT 1 FROM outbox f WHERE f.id = h.after_id AND f.consumer = 'webhook'
                               AND f.dead_at IS NULL AND f.attempts = 0
                               AND f.queued_at > clock_timestamp() - $3 * interval '1 second')
             ORDER BY h.position LIMIT $1 FOR UPDATE SKIP LOCKED) head
       WHERE o.position = head.position RETURNING ${QUEUED}`,
      [limit, leaseMs, FORERUNNER_WAIT_S],
    )
  }

  async delivered(position: number): Promise<void> {
    await this.dataSource.query('DELETE FROM outbox WHERE position = $1', [position])
  }

  /** Tries again in `delayMs`, or never when the event is older than `giveUpAfterS`; whether it was given up. */
  async failed(position: number, error: string, delayMs: number, giveUpAfterS: number): Promise<boolean> {
    const rows = await updated<{ isDead: boolean }>(
      this.dataSource.manager,
      `UPDATE outbox SET attempts = attempts + 1, last_error = $2,
              next_attempt_at = clock_timestamp() + $3 * interval '1 millisecond',
              dead_at = CASE WHEN clock_timestamp() > queued_at + $4 * interval '1 second' THEN clock_timestamp() END
       WHERE position = $1 RETURNING dead_at IS NOT NULL AS "isDead"`,
      [position, error.slice(0, 500), delayMs, giveUpAfterS],
    )
    return rows[0]?.isDead ?? false
  }

  /** Gives a claim back at once. */
  async release(position: number): Promise<void> {
    await this.dataSource.query('UPDATE outbox SET next_attempt_at = clock_timestamp() WHERE position = $1', [position])
  }

  async count(condition: 'pending' | 'dead'): Promise<number> {
    const [row] = await this.dataSource.query<{ count: number }[]>(
      `SELECT count(*) AS count FROM outbox
       WHERE consumer = 'webhook' AND dead_at IS ${condition === 'dead' ? 'NOT NULL' : 'NULL'}`,
    )
    return row?.count ?? 0
  }

  /** The oldest thousand, in the order they were given up. */
  async dead(): Promise<DeadLetterView[]> {
    const rows = await this.dataSource.query<DeadRow[]>(
      `SELECT id, name, session_key AS "sessionKey", created_at AS "createdAt", attempts, last_error AS "lastError",
              payload FROM outbox WHERE dead_at IS NOT NULL ORDER BY dead_at, position LIMIT $1`,
      [MOST_DEAD_LETTERS],
    )
    return rows.map(({ id, name, sessionKey, createdAt, attempts, lastError, payload }) => ({
      id,
      object: 'deadLetter',
      event: name,
      ...(!isClusterEvent(name) && { uniqueSessionId: sessionKey }),
      createdAt,
      attempts,
      lastError,
      payload: WebhookBody.parse({ event: name, ...(JSON.parse(payload) as object) }),
    }))
  }

  /** Queues dead letters anew at their old places; how many. Undefined means all. */
  async replay(id?: string): Promise<number> {
    const rows = await updated<unknown>(
      this.dataSource.manager,
      `UPDATE outbox SET dead_at = NULL, attempts = 0, queued_at = clock_timestamp(), next_attempt_at = clock_timestamp()
       WHERE dead_at IS NOT NULL AND ($1::text IS NULL OR id = $1) RETURNING 1`,
      [id ?? null],
    )
    return rows.length
  }

  /** Deletes dead letters: one, all, or those older than so many days; how many. */
  async purge({ id, olderThanDays }: { id?: string; olderThanDays?: number } = {}): Promise<number> {
    const rows = await updated<unknown>(
      this.dataSource.manager,
      `DELETE FROM outbox WHERE dead_at IS NOT NULL AND ($1::text IS NULL OR id = $1)
         AND ($2::integer IS NULL OR dead_at < clock_timestamp() - $2 * interval '1 day') RETURNING 1`,
      [id ?? null, olderThanDays ?? null],
    )
    return rows.length
  }

  /**
   * Hands the next call records to `write` and forgets them once it has written; the number of them. One master at a
   * time. A death in between repeats a line, and loses none.
   */
  takeCallRecords(limit: number, write: (events: QueuedEvent[]) => Promise<void>): Promise<number> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await hasLock(manager))) return 0
      const events = await manager.query<QueuedEvent[]>(
        `SELECT ${QUEUED} FROM outbox o WHERE o.consumer = 'cdr' ORDER BY o.position LIMIT $1`,
        [limit],
      )
      if (events.length === 0) return 0
      await write(events)
      await manager.query('DELETE FROM outbox WHERE position = ANY($1)', [events.map(({ position }) => position)])
      return events.length
    })
  }
}

async function hasLock(manager: EntityManager): Promise<boolean> {
  const [row] = await manager.query<{ taken: boolean }[]>('SELECT pg_try_advisory_xact_lock($1) AS taken', [CDR_LOCK])
  return row?.taken === true
}
