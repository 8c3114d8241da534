import { SIGNALLING_WINDOWS } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource } from 'typeorm'
import { isBatchFault } from '../platform/database/errors.js'
import { GroupCommit } from '../platform/database/group-commit.js'
import { KeyedStatement, withLockedRows } from '../platform/database/keyed-statement.js'
import { execute, rows } from '../platform/database/sql.js'

/** Condition on `connection`: its participant did not resume in time. */
const IS_OVERDUE = 'evict_at < clock_timestamp()'

/** Condition: there is no live master with the id. */
const isDead = (masterId: string): string => `NOT EXISTS (SELECT 1 FROM master m WHERE m.id = ${masterId})`

/**
 * Condition on `connection`, whose master is dead: it has no deadline yet. A deadline later than `ms` from now was set
 * before the clock of the database was set back, or is that of a camera.
 */
const isLeftBehind = (ms: string): string => `
  (status IN ('active', 'hidden') OR status = 'awaited' AND type = 'IPCAM')
  AND (evict_at IS NULL OR evict_at > clock_timestamp() + ${ms} * interval '1 millisecond')`

// These three are read each second. The first rows of indexes are found at the same cost however many connections there
// are, also by a plan that was made for few.
/** Participants to evict. */
export const OVERDUE_PARTICIPANTS = `SELECT 1 FROM (SELECT min(evict_at) AS evict_at FROM connection) c WHERE ${IS_OVERDUE}`
/** Participants of dead masters without a deadline; skips through the index from master to master. */
export const LEFT_BEHIND_PARTICIPANTS = `(
  WITH RECURSIVE holder (id) AS (
    SELECT min(master_id) FROM connection
    UNION ALL SELECT (SELECT min(master_id) FROM connection WHERE master_id > holder.id) FROM holder WHERE id IS NOT NULL)
  SELECT 1 FROM holder CROSS JOIN LATERAL (
    SELECT 1 FROM connection WHERE master_id = holder.id AND ${isLeftBehind(String(SIGNALLING_WINDOWS.evict))} LIMIT 1) c
  WHERE ${isDead('holder.id')})`

/** Participants whose sockets a master holds, or held last. */
export const HELD_PARTICIPANTS = `SELECT 1 FROM (SELECT min(master_id) AS first FROM connection) c WHERE first IS NOT NULL`

/** Deadlines that one transaction sets at most: it holds the locks of their rows. */
const MOST_SET = 100

/** The deadline of a participant whose socket `masterId` held last; `ms` from now, null: none. */
interface Deadline {
  connectionId: string
  masterId: string
  ms: number | null
  /** The newest signal that was sent to it; null: not known. */
  lastSignalId: number | null
}

const SET_DEADLINES = new KeyedStatement<{ id: string }>(
  (isConnection, ofLocked) => `
  WITH held AS (
    SELECT c.id, d.ms, d.last_signal_id
    FROM connection c, unnest($1::text[], $2::text[], $3::float8[], $4::bigint[]) AS d(id, master_id, ms, last_signal_id)
    WHERE c.id ${isConnection} AND c.id = d.id AND c.master_id = d.master_id AND c.status IN ('active', 'hidden')
    FOR NO KEY UPDATE OF c ${ofLocked})
  UPDATE connection c SET evict_at = clock_timestamp() + d.ms * interval '1 millisecond',
         last_signal_id = coalesce(d.last_signal_id, c.last_signal_id)
  FROM held d WHERE c.id ${isConnection} AND c.id = d.id
  RETURNING c.id`,
)

/**
 * Records which master holds the socket of a participant, and until when a participant without one may resume.
 * Hand-written: all deadlines are computed by the clock of the database.
 */
@Injectable()
export class PresenceRepository {
  readonly #deadlines: GroupCommit<Deadline, true>

  constructor(private readonly dataSource: DataSource) {
    this.#deadlines = new GroupCommit('presence', (deadlines) => this.#setAll(deadlines), isBatchFault, MOST_SET)
  }

  /** Starts the eviction deadline, `ms` from now, of a participant that lost its socket. */
  async markLost(connectionId: string, masterId: string, ms: number, lastSignalId?: number): Promise<void> {
    await this.#deadlines.add({ connectionId, masterId, ms, lastSignalId: lastSignalId ?? null })
  }

  async markFound(connectionId: string, masterId: string): Promise<void> {
    await this.#deadlines.add({ connectionId, masterId, ms: null, lastSignalId: null })
  }

  /** The last of several deadlines of a participant applies. */
  async #setAll(deadlines: readonly Deadline[]): Promise<(true | Error)[]> {
    const last = new Map(deadlines.map((deadline) => [deadline.connectionId, deadline]))
    const set = await withLockedRows([...last.values()], (some) => this.#set(some))
    const results = new Map([...set].map(([{ connectionId }, result]) => [connectionId, result]))
    // One that the master does not hold has no deadline to set.
    return deadlines.map(({ connectionId }) => results.get(connectionId) ?? true)
  }

  async #set(deadlines: readonly Deadline[]): Promise<Map<Deadline, true>> {
    const set = await SET_DEADLINES.rows(
      this.dataSource.manager,
      deadlines.map(({ connectionId }) => connectionId),
      deadlines.map(({ masterId }) => masterId),
      deadlines.map(({ ms }) => ms),
      deadlines.map(({ lastSignalId }) => lastSignalId),
    )
    const ids = new Set(set.map(({ id }) => id))
    return new Map(deadlines.filter(({ connectionId }) => ids.has(connectionId)).map((deadline) => [deadline, true]))
  }

  async overdue(): Promise<string[]> {
    const found = await rows<{ id: string }>(
      this.dataSource.manager,
      `SELECT id FROM connection WHERE ${IS_OVERDUE} ORDER BY evict_at LIMIT 1000`,
    )
    return found.map(({ id }) => id)
  }

  /** The given ids that are no longer participants with a socket at `masterId`. */
  async orphans(connectionIds: string[], masterId: string): Promise<string[]> {
    const found = await rows<{ id: string }>(
      this.dataSource.manager,
      `SELECT id FROM connection WHERE id = ANY($1) AND status IN ('active', 'hidden') AND master_id = $2`,
      [connectionIds, masterId],
    )
    return without(connectionIds, found)
  }

  /** The given ids that are no longer participants, nor cameras that are being started. */
  async gone(connectionIds: string[]): Promise<string[]> {
    if (connectionIds.length === 0) return []
    const found = await rows<{ id: string }>(
      this.dataSource.manager,
      `SELECT id FROM connection
       WHERE id = ANY($1) AND (status IN ('active', 'hidden') OR status = 'awaited' AND type = 'IPCAM')`,
      [connectionIds],
    )
    return without(connectionIds, found)
  }

  /**
   * Starts the eviction deadline of participants whose master died, and of cameras that it was starting. A later deadline
   * is shortened.
   */
  async markLostOfDeadMasters(ms: number): Promise<void> {
    await execute(
      this.dataSource.manager,
      `UPDATE connection SET evict_at = clock_timestamp() + $1 * interval '1 millisecond',
              last_signal_id = CASE WHEN evict_at IS NOT NULL THEN last_signal_id END
       WHERE master_id IS NOT NULL AND ${isLeftBehind('$1')} AND ${isDead('connection.master_id')}`,
      [ms],
    )
  }

  /** Ends the deadlines of the participants of a master that shuts down: the leader starts them again. */
  async clearDeadlines(masterId: string): Promise<void> {
    await execute(
      this.dataSource.manager,
      `UPDATE connection SET evict_at = NULL
       WHERE master_id = $1 AND evict_at IS NOT NULL AND status IN ('active', 'hidden')`,
      [masterId],
    )
  }

  /**
   * Ends the deadlines that passed after their master had died, `silentSeconds` or more ago: no master may have accepted
   * these clients since. The deadlines start again when the leader has removed the dead masters.
   */
  async clearDeadlinesOfDeadMasters(silentSeconds: number): Promise<void> {
    await execute(
      this.dataSource.manager,
      `UPDATE connection c SET evict_at = NULL FROM master m
       WHERE m.id = c.master_id AND m.alive_at < clock_timestamp() - $1 * interval '1 second'
         AND c.evict_at > m.alive_at AND c.status IN ('active', 'hidden')`,
      [silentSeconds],
    )
  }

  /**
   * Repairs deadlines after writes that failed when a socket opened or closed: a participant without a socket in `held`
   * gets `ms` to resume, one in `speaking` has no deadline. A later deadline was set before the clock of the database
   * was set back, and is shortened.
   */
  async alignDeadlines(masterId: string, held: string[], speaking: string[], ms: number): Promise<void> {
    await execute(
      this.dataSource.manager,
      `UPDATE connection SET evict_at = clock_timestamp() + $3 * interval '1 millisecond',
              last_signal_id = CASE WHEN evict_at IS NOT NULL THEN last_signal_id END
       WHERE master_id = $1 AND status IN ('active', 'hidden') AND id <> ALL($2)
         AND (evict_at IS NULL OR evict_at > clock_timestamp() + $3 * interval '1 millisecond')`,
      [masterId, held, ms],
    )
    if (speaking.length === 0) return
    await execute(
      this.dataSource.manager,
      'UPDATE connection SET evict_at = NULL WHERE master_id = $1 AND evict_at IS NOT NULL AND id = ANY($2)',
      [masterId, speaking],
    )
  }
}

function without(ids: string[], found: { id: string }[]): string[] {
  const known = new Set(found.map(({ id }) => id))
  return ids.filter((id) => !known.has(id))
}
