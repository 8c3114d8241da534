import {
  NOT_ENOUGH_DISK,
  type RecordingEnded,
  type RecordingInfo,
  type RecordingProperties,
  type Role,
} from '@session-service/contract'
import type { DataSource } from 'typeorm'
import type { MasterConfig } from '../../platform/config/configuration.module.js'
import { updated } from '../../platform/database/updated.js'
import { BEFORE_ALL, PAGE_ROWS, type Position } from '../../platform/http/streamed-list.js'
import type { NodeBoot } from '../../media-nodes/room-place.js'
import type { PartSnapshot, RecordingSnapshot } from './recording-snapshot.js'
import type { RecordingEntity } from './recording.entity.js'

export type RecordingRow = Pick<
  RecordingEntity,
  | 'id'
  | 'sessionId'
  | 'uniqueSessionId'
  | 'status'
  | 'createdAt'
  | 'properties'
  | 'isAutomatic'
  | 'size'
  | 'duration'
  | 'hasAudio'
  | 'hasVideo'
  | 'file'
  | 'stopReason'
  | 'mediaNodeId'
  | 'attempts'
  | 'isRecovered'
>

export const RECORDING_ROW = `r.id, r.session_id AS "sessionId", r.unique_session_id AS "uniqueSessionId", r.status,
  r.created_at AS "createdAt", r.properties, r.is_automatic AS "isAutomatic", r.size, r.duration,
  r.has_audio AS "hasAudio", r.has_video AS "hasVideo", r.file,
  r.stop_reason AS "stopReason", r.media_node_id AS "mediaNodeId", r.attempts, r.is_recovered AS "isRecovered"`

const AGE_MS = (column: string): string => `(extract(epoch FROM clock_timestamp() - ${column}) * 1000)::float8`

/** A recording that is not finished, as it stands. Ages in ms. */
export interface UnsettledRow extends RecordingRow, Omit<RecordingSnapshot, 'status' | 'parts'> {
  parts: (Omit<PartSnapshot, 'isLost'> & { bootId: string; isStarted: boolean; askedForMs: number })[]
  /** Where its session's media is; null while it has none. */
  placedOn: NodeBoot | null
}

/** Who is told of recordings, by SERVICE_RECORDING_NOTIFICATION. */
const TOLD_ROLES = {
  all: ['SUBSCRIBER', 'PUBLISHER', 'MODERATOR'],
  publisher_moderator: ['PUBLISHER', 'MODERATOR'],
  moderator: ['MODERATOR'],
  none: [],
} satisfies { [who in MasterConfig['SERVICE_RECORDING_NOTIFICATION']]: Role[] }

/** What is taken for the end of a part whose node is gone; the node may yet come back with it. */
export const LOST_WITH_ITS_NODE = 'its media node was lost'

/**
 * Its timeout has passed and no participant that joined meanwhile publishes. An empty session that has lost the media
 * that was recorded is not waited for: nothing is recorded of it any more.
 */
export const OVERDUE = `(r.autostop_at < clock_timestamp() OR r.autostop_at IS NOT NULL AND EXISTS (
    SELECT 1 FROM session w WHERE w.unique_id = r.unique_session_id
      AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.session_id = w.id AND c.status = 'active')
      AND (w.media_node_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM recording_part p
        WHERE p.recording_id = r.id AND p.media_epoch = w.media_epoch AND p.started_at IS NOT NULL))))
  AND NOT EXISTS (SELECT 1 FROM stream p WHERE p.session_id = r.session_id)`

/** How long a master has a finished recording for itself without renewing that, s. */
const CLAIM_S = 30

/** What is known of recordings, and who works at the file of which: nothing here changes what backends are told of. */
export class RecordingReads {
  constructor(
    protected readonly dataSource: DataSource,
    protected readonly config: MasterConfig,
    protected readonly masterId: string,
  ) {}

  async find(id: string): Promise<RecordingRow | undefined> {
    const [row] = await this.dataSource.query<RecordingRow[]>(
      `SELECT ${RECORDING_ROW} FROM recording r WHERE r.id = $1 AND r.removed_at IS NULL`,
      [id],
    )
    return row
  }

  /** What a start in the session begins with; undefined when there is none. */
  async beforeStart(sessionId: string): Promise<{ defaults: RecordingProperties; isBeingMade: boolean } | undefined> {
    const [session] = await this.dataSource.query<{ defaults: RecordingProperties; isBeingMade: boolean }[]>(
      `SELECT recording_properties AS defaults, EXISTS (
         SELECT 1 FROM recording r WHERE r.unique_session_id = s.unique_id AND r.status IN ('starting', 'started')
       ) AS "isBeingMade" FROM session s WHERE s.id = $1`,
      [sessionId],
    )
    return session
  }

  page(after: Position = BEFORE_ALL): Promise<RecordingRow[]> {
    return this.dataSource.query<RecordingRow[]>(
      `SELECT ${RECORDING_ROW} FROM recording r WHERE (r.created_at, r.id) > ($1, $2) AND r.removed_at IS NULL
       ORDER BY r.created_at, r.id LIMIT ${PAGE_ROWS}`,
      [after.createdAt, after.id],
    )
  }

  /** Participants who are told of recordings. */
  async listeners(sessionId: string): Promise<string[]> {
    const rows = await this.dataSource.query<{ id: string }[]>(
      `SELECT id FROM connection WHERE session_id = $1 AND status = 'active' AND role = ANY($2)`,
      [sessionId, TOLD_ROLES[this.config.SERVICE_RECORDING_NOTIFICATION]],
    )
    return rows.map(({ id }) => id)
  }

  /** What is recorded of the session now, for those of the role who are told of it. */
  running(sessionId: string, role: Role | null): Promise<RecordingInfo[]> | undefined {
    const told: readonly string[] = TOLD_ROLES[this.config.SERVICE_RECORDING_NOTIFICATION]
    if (!this.config.SERVICE_RECORDING || role === null || !told.includes(role)) return undefined
    return this.dataSource.query<RecordingInfo[]>(
      `SELECT id, properties->>'name' AS name FROM recording r WHERE r.status = 'started'
         AND r.unique_session_id = (SELECT unique_id FROM session WHERE id = $1)`,
      [sessionId],
    )
  }

  async overdue(): Promise<(Pick<RecordingRow, 'id' | 'uniqueSessionId'> & { isEmpty: boolean })[]> {
    return this.dataSource.query(
      `SELECT r.id, r.unique_session_id AS "uniqueSessionId", NOT EXISTS (
         SELECT 1 FROM connection c WHERE c.session_id = r.session_id AND c.status = 'active') AS "isEmpty"
       FROM recording r WHERE r.status = 'started' AND ${OVERDUE}`,
    )
  }

  /** Those that something may have to be done for, one or all, with their parts. */
  unsettled(id?: string): Promise<UnsettledRow[]> {
    return this.dataSource.query<UnsettledRow[]>(
      `SELECT ${RECORDING_ROW}, ${AGE_MS('r.changed_at')} AS "ageMs", s.id IS NOT NULL AS "hasSession",
              CASE WHEN s.media_node_id IS NOT NULL THEN s.media_epoch END AS epoch,
              CASE WHEN s.media_node_id IS NOT NULL THEN json_build_object(
                'nodeId', s.media_node_id, 'bootId', s.media_node_boot_id) END AS "placedOn",
              EXISTS (SELECT 1 FROM master m WHERE m.id = r.claimed_by) AS "hasStarter",
              coalesce(r.claimed_until > clock_timestamp(), false) AS "isClaimed",
              r.removed_at IS NOT NULL AS "isRemoved",
              (SELECT coalesce(json_agg(json_build_object('part', p.part, 'nodeId', p.node_id, 'bootId', p.boot_id,
                 'epoch', p.media_epoch, 'isEnded', p.ended IS NOT NULL, 'isStarted', p.started_at IS NOT NULL,
                 'isPoor', p.started_at IS NULL OR p.ended->'files' = '[]'::jsonb
                           OR p.ended_at - p.asked_at < interval '10 seconds',
                 'isOutOfDisk', starts_with(coalesce(p.ended->>'failure', ''), $2),
                 'askedForMs', ${AGE_MS('p.asked_at')}, 'endedForMs', coalesce(${AGE_MS('p.ended_at')}, 0)
               ) ORDER BY p.part), '[]') FROM recording_part p WHERE p.recording_id = r.id) AS parts
       FROM recording r LEFT JOIN session s ON s.unique_id = r.unique_session_id
       WHERE (r.status IN ('starting', 'started', 'stopped') OR r.removed_at IS NOT NULL)
         AND ($1::text IS NULL OR r.id = $1)`,
      [id ?? null, NOT_ENOUGH_DISK],
    )
  }

  /** Of these parts, those that are to be recorded. */
  async wanted(parts: readonly number[]): Promise<Set<number>> {
    if (parts.length === 0) return new Set()
    const rows = await this.dataSource.query<{ part: number }[]>(
      `SELECT p.part FROM recording_part p JOIN recording r ON r.id = p.recording_id
       WHERE p.part = ANY($1) AND p.ended IS NULL AND r.status IN ('starting', 'started')`,
      [parts],
    )
    return new Set(rows.map(({ part }) => part))
  }

  /** Whether a recording that there is has the part. */
  async hasPart(part: number): Promise<boolean> {
    const rows = await this.dataSource.query<unknown[]>(
      `SELECT 1 FROM recording_part p JOIN recording r ON r.id = p.recording_id
       WHERE p.part = $1 AND r.removed_at IS NULL`,
      [part],
    )
    return rows.length > 0
  }

  /** Forgets parts whose nodes did not come back with them: their recordings wait for them no longer. */
  async forgetLostParts(afterS: number): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM recording_part p USING recording r WHERE r.id = p.recording_id AND r.status = 'ready'
         AND p.ended->>'failure' = $1 AND p.ended->'files' = '[]'::jsonb
         AND p.ended_at < clock_timestamp() - $2 * interval '1 second'`,
      [LOST_WITH_ITS_NODE, afterS],
    )
  }

  /** Of these, the ones that are ready and wait for no part. */
  finished(ids: readonly string[]): Promise<RecordingRow[]> {
    return this.dataSource.query<RecordingRow[]>(
      `SELECT ${RECORDING_ROW} FROM recording r WHERE r.id = ANY($1) AND r.status = 'ready' AND r.removed_at IS NULL
         AND NOT EXISTS (SELECT 1 FROM recording_part p
                         WHERE p.recording_id = r.id AND (p.ended IS NULL OR p.ended->>'failure' = $2))`,
      [ids, LOST_WITH_ITS_NODE],
    )
  }

  /** In the order in which they were recorded. */
  async endedParts(id: string): Promise<RecordingEnded[]> {
    const rows = await this.dataSource.query<{ ended: RecordingEnded }[]>(
      'SELECT ended FROM recording_part WHERE recording_id = $1 AND ended IS NOT NULL ORDER BY part',
      [id],
    )
    return rows.map(({ ended }) => ended)
  }

  /** Its file is made by this master until further notice, if all parts have ended and nobody else does. */
  async claim(id: string): Promise<RecordingRow | undefined> {
    const [row] = await updated<RecordingRow>(
      this.dataSource.manager,
      `UPDATE recording r SET claimed_by = $2, claimed_until = clock_timestamp() + $3 * interval '1 second'
       WHERE r.id = $1 AND r.status = 'stopped' AND r.removed_at IS NULL
         AND coalesce(r.claimed_until < clock_timestamp(), true)
         AND NOT EXISTS (SELECT 1 FROM recording_part p WHERE p.recording_id = r.id AND p.ended IS NULL)
       RETURNING ${RECORDING_ROW}`,
      [id, this.masterId, CLAIM_S],
    )
    return row
  }

  /** False when the recording was deleted, or another master has it. */
  async renewClaim(id: string): Promise<boolean> {
    const rows = await updated<unknown>(
      this.dataSource.manager,
      `UPDATE recording SET claimed_until = clock_timestamp() + $3 * interval '1 second'
       WHERE id = $1 AND claimed_by = $2 AND status = 'stopped' RETURNING 1`,
      [id, this.masterId, CLAIM_S],
    )
    return rows.length > 0
  }

  /** Its file could not be made: tried again in so many seconds. */
  async retryLater(id: string, seconds: number, isCounted: boolean): Promise<void> {
    await this.dataSource.query(
      `UPDATE recording SET claimed_by = NULL, claimed_until = clock_timestamp() + $3 * interval '1 second',
              attempts = attempts + $4::integer WHERE id = $1 AND claimed_by = $2`,
      [id, this.masterId, seconds, isCounted ? 1 : 0],
    )
  }

  protected async removed(id: string): Promise<RecordingRow | undefined> {
    const [row] = await this.dataSource.query<RecordingRow[]>(
      `SELECT ${RECORDING_ROW} FROM recording r WHERE r.id = $1 AND r.removed_at IS NOT NULL`,
      [id],
    )
    return row
  }

  /** The row of one that is deleted, unless something may yet make files of it; a try to remove those is due then. */
  async forgetRemoved(id: string): Promise<void> {
    await this.dataSource.query(
      `DELETE FROM recording WHERE id = $1 AND removed_at IS NOT NULL
         AND coalesce(claimed_until < clock_timestamp(), true)`,
      [id],
    )
  }

  /** The files of a deleted one could not be removed: tried again in so many seconds. */
  async removeLater(id: string, seconds: number): Promise<void> {
    await this.dataSource.query(
      `UPDATE recording SET claimed_until = clock_timestamp() + $2 * interval '1 second'
       WHERE id = $1 AND removed_at IS NOT NULL`,
      [id, seconds],
    )
  }

  /** The node did not know the room yet: as if it had not been asked. */
  async takeBackPart(part: number): Promise<void> {
    await this.dataSource.query('DELETE FROM recording_part WHERE part = $1 AND started_at IS NULL', [part])
  }
}
