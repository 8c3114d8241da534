import { type RecordingRemovalReason, ServiceError } from '@session-service/contract'
import { Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { execute, firstRow, rows } from '../../platform/database/sql.js'
import { EventLog } from '../../events/event-log.js'
import { changeRecording } from './recording-change.js'
import { RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'
import { isLive } from './recording-states.js'
import { recordingRemovalAnnounced, recordingRemoved } from './recording.events.js'

/** A master that still makes a file of a deleted recording has noticed the deletion by then, s. */
const LAST_FILE_S = 75

/** Bounds of the finished recordings that are kept; 0: no bound. */
export interface RetentionBounds {
  days: number
  mebibytes: number
}

/** A finished recording beyond a bound. */
interface ExpiredRecording {
  id: string
  reason: RecordingRemovalReason
}

/** Finished recordings, which nothing writes. */
const IS_FINISHED = `r.status IN ('ready', 'failed') AND r.removed_at IS NULL`

/** Each finished recording with whether it is beyond the bounds of $1 (days) and $2 (MiB). */
const KEPT = `(
    SELECT r.id, r.created_at, r.removal_at,
      $1::bigint > 0 AND r.created_at < extract(epoch FROM clock_timestamp()) * 1000 - $1::bigint * 86400000 AS is_old,
      $2::bigint > 0 AND sum(r.size) OVER (ORDER BY r.created_at DESC, r.id DESC) > $2::bigint * 1048576 AS is_excess
    FROM recording r WHERE ${IS_FINISHED}) kept`

/**
 * A CTE `beyond` of the finished recordings beyond the bounds: those that are too old, and the oldest ones that do not
 * fit into the total size together with all newer ones.
 */
const BEYOND = `beyond AS (
  SELECT id, created_at, removal_at, CASE WHEN is_old THEN 'age' ELSE 'totalSize' END AS reason
  FROM ${KEPT} WHERE is_old OR is_excess)`

/**
 * One pass over the finished recordings and an array of the few to change. `NOT IN (SELECT …)` compares each announced
 * recording with each one beyond the bounds as soon as these do not fit into a hash table.
 */
const WITHDRAW = `
  UPDATE recording SET removal_at = NULL WHERE id = ANY(ARRAY(
    SELECT id FROM ${KEPT} WHERE removal_at IS NOT NULL AND NOT (is_old OR is_excess)
    UNION ALL
    SELECT r.id FROM recording r WHERE r.removal_at IS NOT NULL AND NOT (${IS_FINISHED})))`

/** Deletes recordings, except their files: by request, and those that the retention has announced. */
@Injectable()
export class RecordingRemovals {
  constructor(
    private readonly dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
  ) {}

  /**
   * Deletes it, except its files; also a recording whose files could not be removed before. Undefined when there is
   * none. While a master makes its file, the row stays until that file can no longer appear.
   * @throws ServiceError CONFLICT while it is recorded
   */
  async remove(id: string): Promise<RecordingRow | undefined> {
    const removed = await changeRecording(this.events, id, async ({ manager, row }) => {
      if (isLive(row.status)) throw new ServiceError('CONFLICT', `recording ${id} is ${row.status}: stop it first`)
      await markRemoved(manager, id)
      return row
    })
    return removed ?? (await this.#findRemoved(id))
  }

  #findRemoved(id: string): Promise<RecordingRow | undefined> {
    return firstRow<RecordingRow>(
      this.dataSource,
      `SELECT ${RECORDING_COLUMNS} FROM recording r WHERE r.id = $1 AND r.removed_at IS NOT NULL`,
      [id],
    )
  }

  /** Recordings beyond the bounds whose removal is not announced, at most `limit`, the oldest first. */
  unannounced(bounds: RetentionBounds, limit: number): Promise<ExpiredRecording[]> {
    return this.#beyond(bounds, 'removal_at IS NULL', limit)
  }

  /** Recordings beyond the bounds whose announced time has come, at most `limit`, the oldest first. */
  due(bounds: RetentionBounds, limit: number): Promise<ExpiredRecording[]> {
    return this.#beyond(bounds, 'removal_at <= clock_timestamp()', limit)
  }

  #beyond({ days, mebibytes }: RetentionBounds, condition: string, limit: number): Promise<ExpiredRecording[]> {
    return rows<ExpiredRecording>(
      this.dataSource,
      `WITH ${BEYOND} SELECT id, reason FROM beyond WHERE ${condition} ORDER BY created_at, id LIMIT $3`,
      [days, mebibytes, limit],
    )
  }

  /** Withdraws the announcements of recordings that are within the bounds again. */
  async withdraw({ days, mebibytes }: RetentionBounds): Promise<number> {
    if (days === 0 && mebibytes === 0)
      return execute(this.dataSource, 'UPDATE recording SET removal_at = NULL WHERE removal_at IS NOT NULL')
    return execute(this.dataSource, WITHDRAW, [days, mebibytes])
  }

  /** Announces the removal after `seconds`, with its event. False when it is announced already, or not finished. */
  async announce({ id, reason }: ExpiredRecording, seconds: number): Promise<boolean> {
    const isAnnounced = await changeRecording(this.events, id, async ({ manager, record, row }) => {
      const announced = await firstRow<{ removalAt: number }>(
        manager,
        `UPDATE recording r SET removal_at = clock_timestamp() + $2 * interval '1 second'
         WHERE r.id = $1 AND ${IS_FINISHED} AND r.removal_at IS NULL
         RETURNING (extract(epoch FROM r.removal_at) * 1000)::bigint AS "removalAt"`,
        [id, seconds],
      )
      if (!announced) return false
      await record(recordingRemovalAnnounced(row, { ...announced, reason, now: this.clock.now() }))
      return true
    })
    return isAnnounced ?? false
  }

  /** Deletes it as `remove` does, with its event. Undefined before its announced time, and when it is not finished. */
  removeAnnounced({ id, reason }: ExpiredRecording): Promise<RecordingRow | undefined> {
    return changeRecording(this.events, id, async ({ manager, record, row }) => {
      const isDue = await rows(
        manager,
        `SELECT 1 FROM recording r WHERE r.id = $1 AND ${IS_FINISHED} AND r.removal_at <= clock_timestamp()`,
        [id],
      )
      if (isDue.length === 0) return undefined
      await markRemoved(manager, id)
      await record(recordingRemoved(row, { reason, now: this.clock.now() }))
      return row
    })
  }
}

const markRemoved = (manager: EntityManager, id: string): Promise<number> =>
  execute(
    manager,
    `UPDATE recording SET removed_at = clock_timestamp(), claimed_by = NULL,
            claimed_until = CASE WHEN claimed_by IS NOT NULL AND claimed_until > clock_timestamp()
                            THEN clock_timestamp() + $2 * interval '1 second' END WHERE id = $1`,
    [id, LAST_FILE_S],
  )
