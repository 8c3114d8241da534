import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { columns, execute, firstRow, rows } from '../platform/database/sql.js'
import { undelivered } from './consumers.js'
import { OutboxEntity } from './outbox.entity.js'

const QUEUED = ['position', 'id', 'name', 'sessionKey', 'payload', 'attempts', 'traceContext'] as const
export type QueuedEvent = Pick<OutboxEntity, (typeof QUEUED)[number]>
/** A document for one consumer. */
export interface QueuedDocument {
  id: string
  /** The session's unique id. */
  sessionKey: string
  name: string
  payload: object & { timestamp: number }
}
/** The select list of a QueuedEvent, from a row `o`. */
export const QUEUED_COLUMNS = columns(OutboxEntity, 'o', QUEUED)
/** Consumers that one master at a time serves, with numbers that nothing else in the database locks. */
const LOCKS = { cdr: 7_230_004, history: 7_230_006, search: 7_230_007 } as const
export type SerialConsumer = keyof typeof LOCKS

/** The events and documents of the consumers that one master at a time serves; `webhook` has its own queue. */
@Injectable()
export class OutboxRepository {
  constructor(private readonly dataSource: DataSource) {}

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
        `SELECT ${QUEUED_COLUMNS} FROM outbox o WHERE ${undelivered('$1')} LIMIT $2`,
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
