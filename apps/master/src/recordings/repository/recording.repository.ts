import {
  type RecordingEnded,
  type RecordingProperties,
  type RecordingStopReason,
  ServiceError,
} from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import { DataSource, type EntityManager } from 'typeorm'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../platform/config/configuration.module.js'
import { updated } from '../../platform/database/updated.js'
import { EventLog, type Record } from '../../events/event-log.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { type MaybePlace, PLACE, placeOf } from '../../media-nodes/session-place.js'
import { hasLive, hasMore, insertPart, insertRecording, type Recordable } from './recording-rows.js'
import { isLive, mayBecome } from './recording-states.js'
import { OVERDUE, RECORDING_ROW, RecordingReads, type RecordingRow } from './recording-reads.js'
import { recordingStatusChanged, type ToldState } from './recording.events.js'

export { RECORDING_ROW, type RecordingRow, type UnsettledRow } from './recording-reads.js'

/** A part that a node is asked for. */
export interface NewPart {
  recording: RecordingRow
  part: number
  place: RoomPlace
}

/** A master that still makes a file of what was deleted has noticed by then, and its last request is over, s. */
const LAST_FILE_S = 75

/** The reason of a `ready` that follows another final state. */
const RECOVERED = 'recovered'

/** A recording under its lock, and the events of what is done to it. */
interface Change {
  manager: EntityManager
  record: Record
  row: RecordingRow
}

/** The recordings that there are. A change is made under the locks of its session, if that lives, and its row. */
@Injectable()
export class RecordingRepository extends RecordingReads {
  constructor(
    dataSource: DataSource,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) config: MasterConfig,
    @Inject(MASTER_ID) masterId: string,
  ) {
    super(dataSource, config, masterId)
  }

  /**
   * A recording `starting`, with its first part, where its session is. `decide` may refuse. CONFLICT when there is one,
   * UNAVAILABLE while the session has no media.
   */
  begin(
    sessionId: string,
    decide: (defaults: RecordingProperties, id: string, place: RoomPlace) => RecordingProperties,
    isAutomatic: boolean,
  ): Promise<NewPart> {
    return this.dataSource.transaction(async (manager) => {
      const [session] = await manager.query<(Recordable & MaybePlace)[]>(
        `SELECT id, unique_id AS "uniqueId", recording_properties AS "recordingProperties", ${PLACE}
         FROM session WHERE id = $1 FOR NO KEY UPDATE`,
        [sessionId],
      )
      if (!session) throw new ServiceError('NOT_FOUND', `no session with the id ${sessionId}`, { subject: 'session' })
      if (await hasLive(manager, session.uniqueId)) {
        throw new ServiceError('CONFLICT', `session ${sessionId} is being recorded`)
      }
      const place = placeOf(session)
      if (!place) throw new ServiceError('UNAVAILABLE', `the media of session ${sessionId} is being moved`)
      const decideFor = (id: string): RecordingProperties => decide(session.recordingProperties, id, place)
      const recording = await insertRecording(manager, session, decideFor, {
        mediaNodeId: place.nodeId,
        isAutomatic,
        claimedBy: this.masterId,
        now: this.clock.now(),
      })
      return { recording, place, part: await insertPart(manager, recording.id, place) }
    })
  }

  /** True once in the life of a session whose recording mode is ALWAYS. */
  async takeAutomaticStart(sessionId: string): Promise<boolean> {
    const rows = await updated<unknown>(
      this.dataSource.manager,
      `UPDATE session SET was_recorded = true
       WHERE id = $1 AND recording_mode = 'ALWAYS' AND media_mode = 'ROUTED' AND NOT was_recorded RETURNING 1`,
      [sessionId],
    )
    return rows.length > 0
  }

  /**
   * The first bytes of its first part are in a file. With nobody publishing it stops by itself in `autostopS`.
   * Undefined when it is `starting` no more.
   */
  started(id: string, part: number, startedAt: number, autostopS: number): Promise<RecordingRow | undefined> {
    return this.change(id, async (change) => {
      if (!mayBecome(change.row.status, 'started')) return undefined
      await this.partStarted(part, startedAt, change.manager)
      return this.become(change, 'started', {
        set: `created_at = $2, claimed_by = NULL,
              autostop_at = coalesce(autostop_at, CASE WHEN $3 > 0 AND NOT is_automatic AND NOT EXISTS (
                SELECT 1 FROM stream WHERE session_id = r.session_id)
                THEN clock_timestamp() + $3 * interval '1 second' END)`,
        // By the node's clock, which may be ahead; nothing began after it was told.
        values: [Math.min(startedAt, this.clock.now()), autostopS],
      })
    })
  }

  async partStarted(part: number, startedAt: number, manager = this.dataSource.manager): Promise<void> {
    await manager.query('UPDATE recording_part SET started_at = $2 WHERE part = $1', [part, startedAt])
  }

  /** The start failed: there is no such recording; whether this call made it so. */
  startFailed(id: string, part: number, reason: string): Promise<boolean> {
    return this.change(id, async ({ manager, record, row }) => {
      const parts = await manager.query<unknown[]>(
        'SELECT 1 FROM recording_part WHERE recording_id = $1 AND part = $2',
        [id, part],
      )
      if (row.status !== 'starting' || parts.length === 0) return false
      await record(this.told(row, 'failed', reason))
      await manager.query('DELETE FROM recording WHERE id = $1', [id])
      return true
    }).then((done) => done ?? false)
  }

  /** It stops; undefined when it is not `started`. */
  stop(id: string, reason: RecordingStopReason, isDue = 'true'): Promise<RecordingRow | undefined> {
    return this.change(id, async (change) => {
      const due = await change.manager.query<unknown[]>(`SELECT 1 FROM recording r WHERE r.id = $1 AND ${isDue}`, [id])
      if (!mayBecome(change.row.status, 'stopped') || change.row.status !== 'started' || due.length === 0) {
        return undefined
      }
      return this.become(change, 'stopped', {
        reason,
        set: 'stop_reason = $2, autostop_at = NULL',
        values: [reason],
      })
    })
  }

  /** Stops it if its time is over, and nobody has published since. */
  stopOverdue(id: string): Promise<RecordingRow | undefined> {
    return this.stop(id, 'automaticStop', OVERDUE)
  }

  /** What a node says of the end of a part; undefined when there is no such part, or it had ended. */
  partEnded(ended: RecordingEnded, onlyOpen = true): Promise<RecordingRow | undefined> {
    return this.change(ended.recordingId, async (change) => {
      const rows = await updated<unknown>(
        change.manager,
        `UPDATE recording_part SET ended = $3, ended_at = clock_timestamp()
         WHERE recording_id = $1 AND part = $2
           AND (ended IS NULL OR (NOT $4 AND ended->'files' = '[]'::jsonb AND $3::jsonb->'files' <> '[]'::jsonb))
         RETURNING 1`,
        [ended.recordingId, ended.part, JSON.stringify(ended), onlyOpen],
      )
      if (rows.length === 0) return undefined
      // A node that came back late brought what was given up: the file can be made after all, or with it.
      if (!mayBecome(change.row.status, 'stopped') || isLive(change.row.status) || ended.files.length === 0) {
        return change.row
      }
      await change.manager.query(
        `UPDATE recording SET status = 'stopped', is_recovered = true, attempts = 0, claimed_by = NULL, claimed_until = NULL,
                changed_at = clock_timestamp() WHERE id = $1`,
        [ended.recordingId],
      )
      return { ...change.row, status: 'stopped', isRecovered: true }
    })
  }

  /** The next part of a recording whose last one is over; undefined when there is one already, or nothing to record. */
  nextPart(id: string, after: number): Promise<NewPart | undefined> {
    return this.change(id, async ({ manager, row }) => {
      const [last] = await manager.query<{ part: number }[]>(
        'SELECT max(part) AS part FROM recording_part WHERE recording_id = $1',
        [id],
      )
      const [session] = await manager.query<MaybePlace[]>(`SELECT ${PLACE} FROM session WHERE unique_id = $1`, [
        row.uniqueSessionId,
      ])
      const place = session && placeOf(session)
      if (row.status !== 'started' || last?.part !== after || !place) return undefined
      await manager.query('UPDATE recording SET media_node_id = $2 WHERE id = $1', [id, place.nodeId])
      const recording = { ...row, mediaNodeId: place.nodeId }
      return { recording, place, part: await insertPart(manager, id, place) }
    })
  }

  /** Undefined when there is no such recording, or parts have come that the file was not made of. */
  ready(
    id: string,
    made: Pick<RecordingRow, 'size' | 'duration' | 'hasAudio' | 'hasVideo'> & { file: string },
    madeOf: readonly number[],
  ): Promise<RecordingRow | undefined> {
    return this.finish(id, 'ready', undefined, {
      set: ['size = $2', 'duration = $3', 'file = $4', 'has_audio = $5', 'has_video = $6'],
      values: [made.size, made.duration, made.file, made.hasAudio, made.hasVideo],
      madeOf,
    })
  }

  failed(id: string, reason: string): Promise<RecordingRow | undefined> {
    return this.finish(id, 'failed', reason, { set: [], values: [] })
  }

  private finish(
    id: string,
    status: 'ready' | 'failed',
    reason: string | undefined,
    { set, values, madeOf }: { set: string[]; values: unknown[]; madeOf?: readonly number[] },
  ): Promise<RecordingRow | undefined> {
    return this.change(id, async (change) => {
      if (!mayBecome(change.row.status, status)) return undefined
      if (!(await this.isOurs(change.manager, id))) return undefined
      if (madeOf && (await hasMore(change.manager, id, madeOf))) return undefined
      return this.become(change, status, {
        reason: reason ?? (change.row.isRecovered ? RECOVERED : change.row.stopReason) ?? undefined,
        set: [...set, 'claimed_by = NULL', 'claimed_until = NULL'].join(', '),
        values,
      })
    })
  }

  /** Another master may have taken over what this one was held up with. */
  private async isOurs(manager: EntityManager, id: string): Promise<boolean> {
    const rows = await manager.query<unknown[]>('SELECT 1 FROM recording WHERE id = $1 AND claimed_by = $2', [
      id,
      this.masterId,
    ])
    return rows.length > 0
  }

  /**
   * Deletes it, but for its files; also one whose files could not be removed before. Undefined when there is none,
   * CONFLICT while it is recorded. Where its file is being made it may yet come to be: its row stays for so long.
   */
  async remove(id: string): Promise<RecordingRow | undefined> {
    const removed = await this.change(id, async ({ manager, row }) => {
      if (isLive(row.status)) throw new ServiceError('CONFLICT', `recording ${id} is ${row.status}: stop it first`)
      await manager.query(
        `UPDATE recording SET removed_at = clock_timestamp(), claimed_by = NULL,
                claimed_until = CASE WHEN claimed_by IS NOT NULL AND claimed_until > clock_timestamp()
                                THEN clock_timestamp() + $2 * interval '1 second' END WHERE id = $1`,
        [id, LAST_FILE_S],
      )
      return row
    })
    return removed ?? (await this.removed(id))
  }

  /** Runs under the locks of the recording and its session; undefined when there is no such recording. */
  private change<T>(id: string, run: (change: Change) => Promise<T>): Promise<T | undefined> {
    return this.events.transaction(async (manager, record) => {
      await manager.query(
        `SELECT 1 FROM session WHERE unique_id = (SELECT unique_session_id FROM recording WHERE id = $1)
         FOR NO KEY UPDATE`,
        [id],
      )
      const [row] = await manager.query<RecordingRow[]>(
        `SELECT ${RECORDING_ROW} FROM recording r WHERE r.id = $1 AND r.removed_at IS NULL FOR UPDATE`,
        [id],
      )
      return row && run({ manager, record, row })
    })
  }

  private async become(
    { manager, record, row: { id } }: Change,
    status: ToldState,
    { reason, set, values }: { reason?: string | undefined; set: string; values: unknown[] },
  ): Promise<RecordingRow> {
    const [row] = await updated<RecordingRow>(
      manager,
      `UPDATE recording r SET status = $${values.length + 2}, changed_at = clock_timestamp(), ${set}
       WHERE r.id = $1 RETURNING ${RECORDING_ROW}`,
      [id, ...values, status],
    )
    if (!row) throw new Error(`recording ${id} vanished under its lock`)
    await record(this.told(row, status, reason))
    return row
  }

  private told(row: RecordingRow, status: ToldState, reason?: string) {
    const now = this.clock.now()
    return recordingStatusChanged(row, { status, reason, now, isPaid: this.config.SERVICE_EDITION !== 'ce' })
  }
}
