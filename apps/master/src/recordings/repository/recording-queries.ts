import {
  NOT_ENOUGH_DISK,
  type RecordingInfo,
  type RecordingProperties,
  type RecordingStopReason,
  type Role,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, IsNull, Not } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { GroupRead, rowsBySession } from '../../platform/database/group-read.js'
import { KeyedStatement } from '../../platform/database/keyed-statement.js'
import { firstRow, rows } from '../../platform/database/sql.js'
import { BEFORE_ALL, PAGE_ROWS, type Position } from '../../platform/http/answers/streamed-list.js'
import type { NodeBoot } from '../../media-nodes/room-place.js'
import { IS_OVERDUE, IS_UNFINISHED, LOST_NODE_FAILURE, RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'
import type { PartSnapshot, RecordingSnapshot } from './recording-snapshot.js'
import { RecordingEntity } from './recording.entity.js'

const AGE_MS = (column: string): string => `(extract(epoch FROM clock_timestamp() - ${column}) * 1000)::float8`

/** A recording that is not finished, as stored. Ages in ms. */
export interface ReconciledRow extends RecordingRow, Omit<RecordingSnapshot, 'status' | 'parts'> {
  parts: ReconciledPart[]
  /** The media node of its session; null while the session has none. */
  placedOn: NodeBoot | null
}

export interface ReconciledPart extends Omit<PartSnapshot, 'isLost' | 'isRecorded'> {
  bootId: string
  isStarted: boolean
  sinceRequestMs: number
}

/** The defaults of a session, and whether it is being recorded. */
export interface StartContext {
  defaults: RecordingProperties
  isRecording: boolean
}

export type OverdueRow = Pick<RecordingRow, 'id' | 'uniqueSessionId'> & { isEmpty: boolean }

/** A recording that clients may know as running. */
export interface ReportedRecording extends RecordingInfo {
  status: 'started' | 'stopped'
  /** The reason of its stop; while it runs, the most frequent one. */
  reason: RecordingStopReason
}

/** The roles that are notified of recordings, by SERVICE_RECORDING_NOTIFICATION. */
const NOTIFIED_ROLES = {
  all: ['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'],
  publisher_moderator: ['PUBLISHER', 'MODERATOR'],
  moderator: ['MODERATOR'],
  none: [],
} satisfies { [setting in MasterConfig['SERVICE_RECORDING_NOTIFICATION']]: Role[] }

/** Condition on `recording r`: it may need a next step. */
const IS_TO_RECONCILE = `${IS_UNFINISHED} OR r.removed_at IS NOT NULL`
export const RECORDINGS_TO_RECONCILE = `SELECT 1 FROM recording r WHERE ${IS_TO_RECONCILE}`

const RUNNING = new KeyedStatement<RecordingInfo & { sessionId: string }>(
  (is) => `SELECT s.id AS "sessionId", r.id, r.properties->>'name' AS name
    FROM session s JOIN recording r ON r.unique_session_id = s.unique_id
    WHERE s.id ${is} AND r.status = 'started'`,
)

/** Reads recordings. */
@Injectable()
export class RecordingQueries {
  readonly #running = new GroupRead<string, RecordingInfo[]>((sessionIds) => this.#runningIn(sessionIds))

  constructor(
    private readonly dataSource: DataSource,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  async find(id: string): Promise<RecordingRow | undefined> {
    const found = await this.dataSource.getRepository(RecordingEntity).findOneBy({ id, removedAt: IsNull() })
    return found ?? undefined
  }

  /** A deleted recording whose files are not all removed. */
  async findRemoved(id: string): Promise<RecordingRow | undefined> {
    const found = await this.dataSource.getRepository(RecordingEntity).findOneBy({ id, removedAt: Not(IsNull()) })
    return found ?? undefined
  }

  /** Undefined when there is no such session. */
  startContext(sessionId: string): Promise<StartContext | undefined> {
    // Hand-written: one statement reads the session and whether it is being recorded.
    return firstRow<StartContext>(
      this.dataSource,
      `SELECT recording_properties AS defaults, EXISTS (
         SELECT 1 FROM recording r WHERE r.unique_session_id = s.unique_id AND r.status IN ('starting', 'started')
       ) AS "isRecording" FROM session s WHERE s.id = $1`,
      [sessionId],
    )
  }

  /** Recordings of sessions whose ids start with `prefix`. */
  page(prefix = '', after: Position = BEFORE_ALL): Promise<RecordingRow[]> {
    // Hand-written: the row comparison uses the index, and raw rows cost less than entities in a long list.
    return rows<RecordingRow>(
      this.dataSource,
      `SELECT ${RECORDING_COLUMNS} FROM recording r WHERE (r.created_at, r.id) > ($1, $2) AND r.removed_at IS NULL AND starts_with(r.session_id, $3)
       ORDER BY r.created_at, r.id LIMIT ${PAGE_ROWS}`,
      [after.createdAt, after.id, prefix],
    )
  }

  /** Ids of the participants that are notified of recordings. */
  async notifiedConnections(sessionId: string): Promise<string[]> {
    // Hand-written: the entity of connections belongs to another feature.
    const found = await rows<{ id: string }>(
      this.dataSource,
      `SELECT id FROM connection WHERE session_id = $1 AND status = 'active' AND role = ANY($2)`,
      [sessionId, NOTIFIED_ROLES[this.config.SERVICE_RECORDING_NOTIFICATION]],
    )
    return found.map(({ id }) => id)
  }

  isNotified(role: Role): boolean {
    const notified: readonly Role[] = NOTIFIED_ROLES[this.config.SERVICE_RECORDING_NOTIFICATION]
    return this.config.SERVICE_RECORDING && notified.includes(role)
  }

  /** Unlike a master with SERVICE_RECORDING off, which knows of no recordings, the others may notify other roles of them. */
  isHidden(role: Role | null): boolean {
    return this.config.SERVICE_RECORDING && role !== null && !this.isNotified(role)
  }

  /**
   * Runs `notify` with the recordings that a participant may know as running, and whether its current role is notified of
   * them, under the lock of the recordings: clients are notified of a stop later. Not for one that has left.
   */
  async withReported(
    { roomId, connectionId }: { roomId: string; connectionId: string },
    notify: (recordings: readonly ReportedRecording[], isNotified: boolean) => Promise<void>,
  ): Promise<void> {
    await this.dataSource.transaction(async (manager) => {
      const recordings = await rows<ReportedRecording>(
        manager,
        `SELECT id, properties->>'name' AS name, status, coalesce(stop_reason, 'recordingStoppedByServer') AS reason
         FROM recording WHERE unique_session_id = $1 AND status IN ('started', 'stopped') ORDER BY id FOR NO KEY UPDATE`,
        [roomId],
      )
      if (recordings.length === 0) return
      // After the lock: of two changes of the role, the later notification follows the later role.
      const sql = `SELECT role FROM connection WHERE id = $1 AND status = 'active'`
      const connection = await firstRow<{ role: Role }>(manager, sql, [connectionId])
      if (connection) await notify(recordings, this.isNotified(connection.role))
    })
  }

  /** Running recordings of the session; undefined for a role that is not notified of recordings. */
  async running(sessionId: string, role: Role | null): Promise<RecordingInfo[] | undefined> {
    if (role === null || !this.isNotified(role)) return undefined
    return (await this.#running.get(sessionId)) ?? []
  }

  /** Hand-written: every join runs it. */
  async #runningIn(sessionIds: string[]): Promise<Map<string, RecordingInfo[]>> {
    return rowsBySession(await RUNNING.rows(this.dataSource, sessionIds))
  }

  /** Recordings to be stopped because no participant publishes. */
  overdue(): Promise<OverdueRow[]> {
    // Hand-written: the condition is shared with the statement that stops the recording.
    return rows<OverdueRow>(
      this.dataSource,
      `SELECT r.id, r.unique_session_id AS "uniqueSessionId", NOT EXISTS (
         SELECT 1 FROM connection c WHERE c.session_id = r.session_id AND c.status = 'active' AND c.type = 'WEBRTC') AS "isEmpty"
       FROM recording r WHERE r.status = 'started' AND ${IS_OVERDUE}`,
    )
  }

  /** All recordings that may need a next step, or the one with the id, with their parts. */
  toReconcile(id?: string): Promise<ReconciledRow[]> {
    // Hand-written: one statement reads recordings, sessions and parts, with ages by the database's clock.
    return rows<ReconciledRow>(
      this.dataSource,
      `SELECT ${RECORDING_COLUMNS}, ${AGE_MS('r.changed_at')} AS "ageMs", s.id IS NOT NULL AS "hasSession",
              CASE WHEN s.media_node_id IS NOT NULL THEN s.media_epoch END AS epoch,
              CASE WHEN s.media_node_id IS NOT NULL THEN json_build_object(
                'nodeId', s.media_node_id, 'bootId', s.media_node_boot_id) END AS "placedOn",
              EXISTS (SELECT 1 FROM master m WHERE m.id = r.claimed_by) AS "hasStarter",
              coalesce(r.claimed_until > clock_timestamp(), false) AS "isClaimed",
              r.removed_at IS NOT NULL AS "isRemoved",
              (SELECT coalesce(json_agg(json_build_object('part', p.part, 'nodeId', p.node_id, 'bootId', p.boot_id,
                 'epoch', p.media_epoch, 'isEnded', p.ended IS NOT NULL, 'isStarted', p.started_at IS NOT NULL,
                 'isShort', p.started_at IS NULL OR p.ended->'files' = '[]'::jsonb
                            OR p.ended_at - p.asked_at < interval '10 seconds',
                 'isOutOfDisk', starts_with(coalesce(p.ended->>'failure', ''), $2),
                 'sinceRequestMs', ${AGE_MS('p.asked_at')}, 'sinceEndMs', coalesce(${AGE_MS('p.ended_at')}, 0)
               ) ORDER BY p.part), '[]') FROM recording_part p WHERE p.recording_id = r.id) AS parts
       FROM recording r LEFT JOIN session s ON s.unique_id = r.unique_session_id
       WHERE (${IS_TO_RECONCILE})
         AND ($1::text IS NULL OR r.id = $1)`,
      [id ?? null, NOT_ENOUGH_DISK],
    )
  }

  /** The recordings among these that are ready and wait for no part. */
  complete(ids: readonly string[]): Promise<RecordingRow[]> {
    // Hand-written: it reads the failure of parts within their JSON.
    return rows<RecordingRow>(
      this.dataSource,
      `SELECT ${RECORDING_COLUMNS} FROM recording r WHERE r.id = ANY($1) AND r.status = 'ready' AND r.removed_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM recording_part p
                         WHERE p.recording_id = r.id AND (p.ended IS NULL OR p.ended->>'failure' = $2))`,
      [ids, LOST_NODE_FAILURE],
    )
  }
}
