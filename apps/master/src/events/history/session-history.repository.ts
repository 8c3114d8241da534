import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager, In, type Repository } from 'typeorm'
import { columns, execute, rows } from '../../platform/database/sql.js'
import type { HistoryRecord } from '../event-drafts.js'
import type { QueuedEvent } from '../outbox.repository.js'
import { SessionHistoryEntity, SessionRecordEntity } from './session-history.entity.js'
import { listOf, type SessionSummary, withStatuses } from './summary.js'

const RECORD_COLUMNS = columns(SessionRecordEntity, 'r', ['position', 'uniqueSessionId', 'name', 'payload'])

interface HistoryFilter {
  /** Only sessions whose ids start with it. */
  prefix: string
  sessionId?: string | undefined
  mediaNodeId?: string | undefined
  reason?: string | undefined
  /** UTC ms, inclusive. */
  from?: number | undefined
  /** UTC ms, exclusive. */
  to?: number | undefined
}

/** The last session of a page. */
export interface HistoryPosition {
  destroyedAt: number
  uniqueSessionId: string
}

@Injectable()
export class SessionHistoryRepository {
  readonly #sessions: Repository<SessionHistoryEntity>

  constructor(private readonly dataSource: DataSource) {
    this.#sessions = dataSource.getRepository(SessionHistoryEntity)
  }

  /** Stores the records of a batch in one statement. */
  async addRecords(manager: EntityManager, events: readonly QueuedEvent[]): Promise<void> {
    await execute(
      manager,
      `INSERT INTO session_record (position, unique_session_id, name, payload)
       SELECT * FROM unnest($1::bigint[], $2::text[], $3::text[], $4::jsonb[])`,
      [
        events.map(({ position }) => position),
        events.map(({ sessionKey }) => sessionKey),
        events.map(({ name }) => name),
        events.map(({ payload }) => payload),
      ],
    )
  }

  /** Removes the records of sessions and gives those of each in their order. */
  async takeRecords(
    manager: EntityManager,
    uniqueSessionIds: readonly string[],
  ): Promise<Map<string, HistoryRecord[]>> {
    // Hand-written: the query builder has no type for rows that are removed. The event log has written name and payload
    // together.
    const taken = await rows<Pick<SessionRecordEntity, 'position' | 'uniqueSessionId'> & HistoryRecord>(
      manager,
      `DELETE FROM session_record r WHERE r.unique_session_id = ANY($1) RETURNING ${RECORD_COLUMNS}`,
      [uniqueSessionIds],
    )
    taken.sort((a, b) => a.position - b.position)
    return Map.groupBy(taken, ({ uniqueSessionId }) => uniqueSessionId)
  }

  /** The unique ids of these sessions that the history has. */
  async storedOf(manager: EntityManager, uniqueSessionIds: readonly string[]): Promise<string[]> {
    const stored = await manager.getRepository(SessionHistoryEntity).find({
      select: { uniqueSessionId: true },
      where: { uniqueSessionId: In([...uniqueSessionIds]) },
    })
    return stored.map(({ uniqueSessionId }) => uniqueSessionId)
  }

  /** Gives the unique ids of those that it did not store: an earlier use of the session's id has the same one. */
  async insert(manager: EntityManager, summaries: readonly SessionSummary[]): Promise<string[]> {
    const ended = summaries.map(({ id, users, recordings, ...summary }) => ({
      ...summary,
      sessionId: id,
      details: { users, recordings },
    }))
    const insertion = manager.getRepository(SessionHistoryEntity).createQueryBuilder().insert().values(ended)
    // A refused row would fail the batch, at each attempt.
    const inserted = await insertion.orIgnore().returning('unique_session_id').execute()
    const stored = new Set((inserted.raw as { unique_session_id: string }[]).map((row) => row.unique_session_id))
    return summaries.map(({ uniqueSessionId }) => uniqueSessionId).filter((id) => !stored.has(id))
  }

  /** Applies changes of recordings that follow the end of their session. */
  async addStatuses(
    manager: EntityManager,
    uniqueSessionId: string,
    changes: Parameters<typeof withStatuses>[1],
  ): Promise<void> {
    const sessions = manager.getRepository(SessionHistoryEntity)
    const stored = await sessions.findOne({
      select: { uniqueSessionId: true, details: { users: true, recordings: true } },
      where: { uniqueSessionId },
      lock: { mode: 'pessimistic_write' },
    })
    if (!stored) return
    const recordings = withStatuses(stored.details.recordings.content, changes)
    const details = { ...stored.details, recordings: listOf(recordings) }
    await sessions.update({ uniqueSessionId }, { details, numberOfRecordings: recordings.length })
  }

  /** The last one that ended first. */
  find(filter: HistoryFilter, limit: number, after?: HistoryPosition): Promise<SessionHistoryEntity[]> {
    const { prefix, sessionId, mediaNodeId, reason, from, to } = filter
    const query = this.#sessions.createQueryBuilder('ended')
    if (prefix !== '') query.andWhere('starts_with(ended.sessionId, :prefix)', { prefix })
    if (sessionId !== undefined) query.andWhere({ sessionId })
    if (mediaNodeId !== undefined) query.andWhere({ mediaNodeId })
    if (reason !== undefined) query.andWhere({ reason })
    if (from !== undefined) query.andWhere('ended.destroyedAt >= :from', { from })
    if (to !== undefined) query.andWhere('ended.destroyedAt < :to', { to })
    if (after) query.andWhere('(ended.destroyedAt, ended.uniqueSessionId) < (:destroyedAt, :uniqueSessionId)', after)
    return query.orderBy('ended.destroyedAt', 'DESC').addOrderBy('ended.uniqueSessionId', 'DESC').limit(limit).getMany()
  }

  get(uniqueSessionId: string): Promise<SessionHistoryEntity | null> {
    return this.#sessions.createQueryBuilder('ended').addSelect('ended.details').where({ uniqueSessionId }).getOne()
  }

  /** Whether there was such a session. */
  async delete(uniqueSessionId: string): Promise<boolean> {
    const { affected } = await this.#sessions.delete({ uniqueSessionId })
    return affected === 1
  }

  /** Deletes sessions that were stored more than `days` ago, at most `limit`. Gives their number. */
  deleteOld(days: number, limit: number): Promise<number> {
    // Bounded, so that one statement never runs for long: a DELETE has no LIMIT of its own.
    return execute(
      this.dataSource,
      `DELETE FROM session_history WHERE unique_session_id IN (
         SELECT unique_session_id FROM session_history
         WHERE stored_at < clock_timestamp() - $1 * interval '1 day' ORDER BY stored_at LIMIT $2)`,
      [days, limit],
    )
  }

  /**
   * Deletes records that no summary will take: of sessions that ended while the history was off, and whose end does not
   * wait in the outbox. Gives their number.
   */
  deleteLeftover(limit: number): Promise<number> {
    return execute(
      this.dataSource,
      `DELETE FROM session_record WHERE position IN (
         SELECT r.position FROM session_record r
         WHERE r.stored_at < clock_timestamp() - interval '1 day'
           AND NOT EXISTS (SELECT 1 FROM session s WHERE s.unique_id = r.unique_session_id)
           AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.consumer = 'history' AND o.dead_at IS NULL
                             AND o.session_key = r.unique_session_id) LIMIT $1)`,
      [limit],
    )
  }
}
