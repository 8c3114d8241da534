import { DeadLetterView, isClusterEvent, WebhookBody } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager, IsNull, Not, type Repository } from 'typeorm'
import { columns, execute, firstRow, rows } from '../platform/database/sql.js'
import { OutboxEntity } from './outbox.entity.js'

const QUEUED = ['position', 'id', 'name', 'sessionKey', 'payload', 'attempts', 'traceContext'] as const
export type QueuedEvent = Pick<OutboxEntity, (typeof QUEUED)[number]>
/** An event that this master has to post. */
export interface ClaimedEvent extends QueuedEvent {
  /** Whether later events of its session wait. */
  hasNext: boolean
}
/** A document for one consumer. */
export interface QueuedDocument {
  id: string
  /** The session's unique id. */
  sessionKey: string
  name: string
  payload: object & { timestamp: number }
}
const QUEUED_COLUMNS = columns(OutboxEntity, 'o', QUEUED)
/** Consumers that one master at a time serves, with numbers that nothing else in the database locks. */
const LOCKS = { cdr: 7_230_004, history: 7_230_006, search: 7_230_007 } as const
export type SerialConsumer = keyof typeof LOCKS
const MAX_DEAD_LETTERS = 1_000
/** Dead letters that one statement changes. */
const BATCH = 10_000
/** An event waits at most this long, s, for the first attempt of the event that it has to follow. */
const PREDECESSOR_WAIT_S = 15

/** Fragments of the statements that claim; `o` is any row, `h` the first event of a session that is still to be posted. */
const PENDING = `o.consumer = 'webhook' AND o.dead_at IS NULL`
const HEAD = 'o.position, o.session_key, o.after_id, o.next_attempt_at'
const HEADS = {
  /** Those among the oldest events: a claim takes as long when the queue is long. */
  oldest: `
    oldest AS MATERIALIZED (SELECT ${HEAD} FROM outbox o WHERE ${PENDING} ORDER BY o.position LIMIT 200),
    head AS (SELECT DISTINCT ON (session_key) * FROM oldest ORDER BY session_key, position)`,
  all: `
    head AS (SELECT ${HEAD} FROM outbox o WHERE o.position = ANY(ARRAY(
      SELECT min(o.position) FROM outbox o WHERE ${PENDING} GROUP BY o.session_key)))`,
}
const IS_DUE = `h.next_attempt_at <= clock_timestamp() AND (h.after_id IS NULL
  OR NOT EXISTS (SELECT 1 FROM outbox f WHERE f.id = h.after_id AND f.consumer = 'webhook' AND f.dead_at IS NULL
                  AND f.attempts = 0 AND f.queued_at > clock_timestamp() - ${PREDECESSOR_WAIT_S} * interval '1 second'))`
const LEASE_END = `clock_timestamp() + $2 * interval '1 millisecond'`
const CLAIMED = `${QUEUED_COLUMNS}, EXISTS (SELECT 1 FROM outbox n WHERE n.consumer = 'webhook' AND n.dead_at IS NULL
  AND n.session_key = o.session_key AND n.position > o.position) AS "hasNext"`
/** By the database's clock. */
const NOW = (): string => 'clock_timestamp()'

@Injectable()
export class OutboxRepository {
  readonly #repository: Repository<OutboxEntity>

  constructor(private readonly dataSource: DataSource) {
    this.#repository = dataSource.getRepository(OutboxEntity)
  }

  /**
   * Claims due events for `leaseMs`, each the first of its session: the session's next event waits until that one is
   * delivered. An event that has to follow one of another session waits only for that one's first attempt, so that an
   * event that the backend rejects delays no other session. The claims of a master that died become due again.
   * Hand-written, because masters that claim at the same moment have to skip each other's rows. Materialized, and arrays:
   * Postgres may run a subquery once for each row of the table, and each run would lock `limit` further rows.
   */
  claim(from: keyof typeof HEADS, limit: number, leaseMs: number): Promise<ClaimedEvent[]> {
    return rows<ClaimedEvent>(
      this.dataSource,
      `WITH ${HEADS[from]},
       due AS MATERIALIZED (SELECT h.position FROM head h WHERE ${IS_DUE} ORDER BY h.position LIMIT $1),
       free AS MATERIALIZED (
         SELECT o.position FROM outbox o
         WHERE o.position = ANY(ARRAY(SELECT d.position FROM due d)) AND o.next_attempt_at <= clock_timestamp()
         FOR UPDATE SKIP LOCKED)
       UPDATE outbox o SET next_attempt_at = ${LEASE_END}
       FROM free WHERE o.position = free.position RETURNING ${CLAIMED}`,
      [limit, leaseMs],
    )
  }

  /** Hand-written: it is part of each delivery, and the query builder doubles its processor time. */
  async delivered(position: number): Promise<void> {
    await execute(this.dataSource, 'DELETE FROM outbox WHERE position = $1', [position])
  }

  /** As `delivered`; also claims the next event of the session for `leaseMs`, if it is due. */
  deliveredAndClaimNext({ position, sessionKey }: QueuedEvent, leaseMs: number): Promise<ClaimedEvent | undefined> {
    return firstRow<ClaimedEvent>(
      this.dataSource,
      `WITH delivered AS (DELETE FROM outbox WHERE position = $1),
       next AS MATERIALIZED (
         SELECT ${HEAD} FROM outbox o WHERE ${PENDING} AND o.session_key = $3 AND o.position <> $1
         ORDER BY o.position LIMIT 1)
       UPDATE outbox o SET next_attempt_at = ${LEASE_END}
       FROM next h WHERE o.position = h.position AND ${IS_DUE} RETURNING ${CLAIMED}`,
      [position, leaseMs, sessionKey],
    )
  }

  /**
   * Schedules a retry in `delayMs`, or none when the event is older than `giveUpAfterS`; returns whether it was given
   * up. Hand-written, because the database decides by its clock.
   */
  async failed(position: number, error: string, delayMs: number, giveUpAfterS: number): Promise<boolean> {
    const row = await firstRow<{ isDead: boolean }>(
      this.dataSource,
      `UPDATE outbox SET attempts = attempts + 1, last_error = $2,
              next_attempt_at = clock_timestamp() + $3 * interval '1 millisecond',
              dead_at = CASE WHEN clock_timestamp() > queued_at + $4 * interval '1 second' THEN clock_timestamp() END
       WHERE position = $1 RETURNING dead_at IS NOT NULL AS "isDead"`,
      [position, error.slice(0, 500), delayMs, giveUpAfterS],
    )
    return row?.isDead ?? false
  }

  /** Gives a claim back: the event is due at once. */
  async release(position: number): Promise<void> {
    await this.#repository.update({ position }, { nextAttemptAt: NOW })
  }

  /** The numbers of events for the webhook: those that wait, and those that were given up. */
  async counts(): Promise<{ pending: number; dead: number }> {
    const counts = await firstRow<{ pending: number; dead: number }>(
      this.dataSource,
      `SELECT (SELECT count(*)::int FROM outbox WHERE consumer = 'webhook' AND dead_at IS NULL) AS pending,
              (SELECT count(*)::int FROM outbox WHERE consumer = 'webhook' AND dead_at IS NOT NULL) AS dead`,
    )
    return counts ?? { pending: 0, dead: 0 }
  }

  /** The oldest thousand dead letters, in the order in which they were given up. */
  async dead(): Promise<DeadLetterView[]> {
    const letters = await this.#repository.find({
      where: { deadAt: Not(IsNull()) },
      order: { deadAt: 'ASC', position: 'ASC' },
      take: MAX_DEAD_LETTERS,
    })
    return letters.map(({ id, name, sessionKey, createdAt, attempts, lastError, payload }) => ({
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

  /** Queues dead letters again at their old positions: one, or all without an id. Returns their number. */
  replay(id?: string): Promise<number> {
    return this.#inBatches(
      `UPDATE outbox SET dead_at = NULL, attempts = 0, queued_at = clock_timestamp(), next_attempt_at = clock_timestamp()`,
      { id },
    )
  }

  /** Deletes dead letters: one, all, or those older than a number of days. Returns their number. */
  purge(which: { id?: string; olderThanDays?: number } = {}): Promise<number> {
    return this.#inBatches('DELETE FROM outbox', which)
  }

  /**
   * Hand-written, because a statement for all dead letters could take longer than its time-out. An array, because Postgres
   * may look for the rows of a subquery again for each row of the table, after statistics of a queue that was filled.
   */
  async #inBatches(
    change: string,
    { id, olderThanDays = 0 }: { id?: string; olderThanDays?: number },
  ): Promise<number> {
    let [changed, total] = [0, 0]
    do {
      changed = await execute(
        this.dataSource,
        `${change} WHERE position = ANY(ARRAY(
           SELECT position FROM outbox
           WHERE dead_at < clock_timestamp() - $1 * interval '1 day' AND ($2::text IS NULL OR id = $2)
           ORDER BY dead_at, position LIMIT $3))`,
        [olderThanDays, id ?? null, BATCH],
      )
      total += changed
    } while (changed === BATCH)
    return total
  }

  /** Queues documents that are no events, in a transaction; one that is queued already has no effect. */
  async add(manager: EntityManager, consumer: SerialConsumer, documents: readonly QueuedDocument[]): Promise<void> {
    if (documents.length === 0) return
    await execute(
      manager,
      `INSERT INTO outbox (id, consumer, session_key, name, payload, created_at)
       SELECT id, $1, session_key, name, payload, created_at
       FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[])
         AS r(id, session_key, name, payload, created_at) ON CONFLICT DO NOTHING`,
      [
        consumer,
        documents.map(({ id }) => id),
        documents.map(({ sessionKey }) => sessionKey),
        documents.map(({ name }) => name),
        documents.map(({ payload }) => JSON.stringify(payload)),
        documents.map(({ payload }) => payload.timestamp),
      ],
    )
  }

  /**
   * Passes the next events of a consumer to `handle` and deletes them when it resolves; returns their number. One master
   * at a time. Changes by the transaction's manager happen once; other effects are repeated when a master dies between
   * both, and never lost.
   */
  take(
    consumer: SerialConsumer,
    limit: number,
    handle: (events: QueuedEvent[], manager: EntityManager) => Promise<void>,
  ): Promise<number> {
    return this.dataSource.transaction(async (manager) => {
      if (!(await hasLock(manager, LOCKS[consumer]))) return 0
      // Hand-written, because a busy master reads thousands of events per second.
      const events = await rows<QueuedEvent>(
        manager,
        `SELECT ${QUEUED_COLUMNS} FROM outbox o WHERE o.consumer = $1 AND o.dead_at IS NULL
         ORDER BY o.position LIMIT $2`,
        [consumer, limit],
      )
      if (events.length === 0) return 0
      await handle(events, manager)
      await execute(manager, 'DELETE FROM outbox WHERE position = ANY($1)', [events.map(({ position }) => position)])
      return events.length
    })
  }
}

async function hasLock(manager: EntityManager, lock: number): Promise<boolean> {
  const row = await firstRow<{ taken: boolean }>(manager, 'SELECT pg_try_advisory_xact_lock($1) AS taken', [lock])
  return row?.taken === true
}
