import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { isBatchFault } from '../../platform/database/errors.js'
import { firstOfEach, GroupCommit } from '../../platform/database/group-commit.js'
import { KeyedStatement } from '../../platform/database/keyed-statement.js'
import { execute, firstRow, rows } from '../../platform/database/sql.js'
import { undelivered } from '../consumers.js'
import { QUEUED_COLUMNS, type QueuedEvent } from '../outbox.repository.js'

/** An event that no other master posts until its lease ends. */
export interface ClaimedEvent extends QueuedEvent {
  /** As Postgres writes it: a Date has no microseconds. */
  leaseEnd: string
}

/** An event that the receiver has. */
interface Delivery {
  event: ClaimedEvent
  /** The lease of the session's next events, ms; null: they are not claimed. */
  leaseMs: number | null
}

/** Events of one session that are claimed together. */
const MOST_OF_SESSION = 8

/** An event waits at most this long, s, for the first attempt of the event that it has to follow. */
const PREDECESSOR_WAIT_S = 15

/** Fragments of the statements that claim; `o` is any row, `h` the first event of a session that is still to be posted. */
const PENDING = `o.consumer = 'webhook' AND o.dead_at IS NULL`
const HEAD = 'o.position, o.session_key, o.after_id, o.next_attempt_at'
const HEADS = {
  /** The heads among the oldest events, so that a long queue does not slow a claim down. */
  oldest: `
    oldest AS MATERIALIZED (SELECT ${HEAD} FROM outbox o WHERE ${undelivered(`'webhook'`)} LIMIT 200),
    head AS (SELECT DISTINCT ON (session_key) * FROM oldest ORDER BY session_key, position)`,
  all: `
    head AS (SELECT ${HEAD} FROM outbox o WHERE o.position = ANY(ARRAY(
      SELECT min(o.position) FROM outbox o WHERE ${PENDING} GROUP BY o.session_key)))`,
}
const IS_DUE = `h.next_attempt_at <= clock_timestamp() AND (h.after_id IS NULL
  OR NOT EXISTS (SELECT 1 FROM outbox f WHERE f.id = h.after_id AND f.consumer = 'webhook' AND f.dead_at IS NULL
                  AND f.attempts = 0 AND f.queued_at > clock_timestamp() - ${PREDECESSOR_WAIT_S} * interval '1 second'))`
const LEASE_END = `clock_timestamp() + $2 * interval '1 millisecond'`
const CLAIMED_COLUMNS = `${QUEUED_COLUMNS}, o.next_attempt_at::text AS "leaseEnd"`
const DELETE = new KeyedStatement((is) => `DELETE FROM outbox WHERE position ${is}`, 'bigint')

/** The events that wait to be posted. Every master posts; claims decide which one posts an event. */
@Injectable()
export class WebhookQueueRepository {
  readonly #deliveries: GroupCommit<Delivery, ClaimedEvent[]>

  constructor(private readonly dataSource: DataSource) {
    this.#deliveries = new GroupCommit('delivery', (deliveries) => this.#deliverAll(deliveries), isBatchFault)
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
       FROM free WHERE o.position = free.position RETURNING ${CLAIMED_COLUMNS}`,
      [limit, leaseMs],
    )
  }

  /** Removes an event that the receiver has. */
  async delivered(event: ClaimedEvent): Promise<void> {
    await this.#deliveries.add({ event, leaseMs: null })
  }

  /**
   * As `delivered`; also claims the next events of the session for `leaseMs`, those before the first one that is not due.
   * Returns them in their order.
   */
  deliveredAndClaimNext(event: ClaimedEvent, leaseMs: number): Promise<ClaimedEvent[]> {
    return this.#deliveries.add({ event, leaseMs })
  }

  async #deliverAll(deliveries: readonly Delivery[]): Promise<ClaimedEvent[][]> {
    const positions = deliveries.map(({ event }) => event.position)
    const continued = firstOfEach(
      deliveries.filter(({ leaseMs }) => leaseMs !== null),
      ({ event }) => event.sessionKey,
    )
    if (continued.length === 0) {
      await DELETE.rows(this.dataSource, positions)
      return deliveries.map(() => [])
    }
    const claimed = await this.#deleteAndClaimNext(positions, continued)
    const inOrder = claimed.toSorted((one, other) => one.position - other.position)
    const bySession = Map.groupBy(inOrder, ({ sessionKey }) => sessionKey)
    const next = new Map(continued.map((delivery) => [delivery, bySession.get(delivery.event.sessionKey)]))
    return deliveries.map((delivery) => next.get(delivery) ?? [])
  }

  /**
   * Waits for the locks of the next events: another master that claims one of them at the same moment posts the session.
   * So does one that has claimed the delivered event since the lease ended.
   */
  #deleteAndClaimNext(positions: number[], continued: readonly Delivery[]): Promise<ClaimedEvent[]> {
    return rows<ClaimedEvent>(
      this.dataSource,
      `WITH delivered AS (DELETE FROM outbox WHERE position = ANY($1) RETURNING position, next_attempt_at),
       next AS MATERIALIZED (
         SELECT h.position, bool_and(${IS_DUE}) OVER (PARTITION BY h.session_key ORDER BY h.position) AS is_due
         FROM unnest($3::text[], $4::bigint[], $5::timestamptz[]) AS k(session_key, position, lease_end)
         CROSS JOIN LATERAL (
           SELECT ${HEAD} FROM outbox o WHERE ${PENDING} AND o.session_key = k.session_key AND o.position <> ALL($1)
             AND NOT EXISTS (SELECT 1 FROM delivered d WHERE d.position = k.position AND d.next_attempt_at <> k.lease_end)
           ORDER BY o.position LIMIT ${MOST_OF_SESSION} FOR UPDATE) h)
       UPDATE outbox o SET next_attempt_at = ${LEASE_END}
       FROM next h WHERE o.position = h.position AND h.is_due RETURNING ${CLAIMED_COLUMNS}`,
      [
        positions,
        continued[0]?.leaseMs,
        continued.map(({ event }) => event.sessionKey),
        continued.map(({ event }) => event.position),
        continued.map(({ event }) => event.leaseEnd),
      ],
    )
  }

  /**
   * Schedules a retry in `delayMs`, or none when the event is older than `giveUpAfterS`; returns whether it was given
   * up. Without effect when another master has claimed the event since the lease ended. Hand-written, because the database
   * decides by its clock.
   */
  async failed(
    { position, leaseEnd }: ClaimedEvent,
    error: string,
    delayMs: number,
    giveUpAfterS: number,
  ): Promise<boolean> {
    const row = await firstRow<{ isDead: boolean }>(
      this.dataSource,
      `UPDATE outbox SET attempts = attempts + 1, last_error = $2,
              next_attempt_at = clock_timestamp() + $3 * interval '1 millisecond',
              dead_at = CASE WHEN clock_timestamp() > queued_at + $4 * interval '1 second' THEN clock_timestamp() END
       WHERE position = $1 AND next_attempt_at = $5 RETURNING dead_at IS NOT NULL AS "isDead"`,
      [position, error.slice(0, 500), delayMs, giveUpAfterS, leaseEnd],
    )
    return row?.isDead ?? false
  }

  /** Gives claims back that no other master has taken over: the events are due at once. */
  async release(events: readonly ClaimedEvent[]): Promise<void> {
    if (events.length === 0) return
    await execute(
      this.dataSource,
      `UPDATE outbox o SET next_attempt_at = clock_timestamp()
       FROM unnest($1::bigint[], $2::timestamptz[]) AS r(position, lease_end)
       WHERE o.position = ANY($1) AND o.position = r.position AND o.next_attempt_at = r.lease_end`,
      [events.map(({ position }) => position), events.map(({ leaseEnd }) => leaseEnd)],
    )
  }

  /** The number of events that wait to be posted, at most `most`. */
  pending(most: number): Promise<number> {
    return this.#count(undelivered(`'webhook'`), most)
  }

  /** The number of events that were given up, at most `most`. */
  dead(most?: number): Promise<number> {
    return this.#count(`o.consumer = 'webhook' AND o.dead_at IS NOT NULL`, most)
  }

  async #count(condition: string, most: number | undefined): Promise<number> {
    const row = await firstRow<{ count: number }>(
      this.dataSource,
      `SELECT count(*)::int AS count FROM (SELECT 1 FROM outbox o WHERE ${condition} LIMIT $1) counted`,
      [most ?? null],
    )
    return row?.count ?? 0
  }
}
