import type { RecordingEnded, RecordingStopReason } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { isPaid } from '../../platform/config/edition.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { MASTER_CONFIG, MASTER_ID, type MasterConfig } from '../../platform/config/configuration.module.js'
import { execute, firstRow, rows } from '../../platform/database/sql.js'
import { EventLog } from '../../events/event-log.js'
import type { EventDraft } from '../../events/event-drafts.js'
import { type MaybePlace, PLACE, placeOf } from '../../media-nodes/session-place.js'
import { changeRecording, type RecordingChange } from './recording-change.js'
import { insertPart } from './recording-inserts.js'
import { type FinishedFile, IS_OVERDUE, type NewPart, RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'
import { isLive, mayBecome } from './recording-states.js'
import { RecordingEntity, RecordingPartEntity } from './recording.entity.js'
import { recordingStatusChanged, type ReportedState } from './recording.events.js'

/** The reason of a `ready` that follows another final state. */
const RECOVERED = 'recovered'

/**
 * Changes the state of recordings, with their events. Each change holds the locks of the session, if it exists, and of
 * the recording. Hand-written statements where they lock, return the changed row or use the database's clock.
 */
@Injectable()
export class RecordingTransitions {
  constructor(
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    @Inject(MASTER_ID) private readonly masterId: string,
  ) {}

  /**
   * `started`: the first bytes of the first part are in a file. Without a publisher the recording stops automatically
   * after `autostopS`. Undefined when it is no longer `starting`.
   */
  markStarted(id: string, part: number, startedAt: number, autostopS: number): Promise<RecordingRow | undefined> {
    return this.#change(id, async (change) => {
      if (!mayBecome(change.row.status, 'started')) return undefined
      await change.manager.update(RecordingPartEntity, { part }, { startedAt })
      return this.#update(change, 'started', {
        set: `created_at = $2, claimed_by = NULL,
              autostop_at = coalesce(autostop_at, CASE WHEN $3 > 0 AND NOT is_automatic AND NOT EXISTS (
                SELECT 1 FROM stream WHERE session_id = r.session_id)
                THEN clock_timestamp() + $3 * interval '1 second' END)`,
        // The clock of the media node may be ahead, but the start cannot be later than its report.
        values: [Math.min(startedAt, this.clock.now()), autostopS],
      })
    })
  }

  /** The start failed: deletes the recording. False when it is no longer `starting`, or its id is another recording's. */
  async failStart(id: string, part: number, reason: string): Promise<boolean> {
    const isDone = await this.#change(id, async ({ manager, record, row }) => {
      const hasPart = await manager.existsBy(RecordingPartEntity, { recordingId: id, part })
      if (row.status !== 'starting' || !hasPart) return false
      await record(this.#eventOf(row, 'failed', reason))
      await manager.delete(RecordingEntity, { id })
      return true
    })
    return isDone ?? false
  }

  /** Undefined when it is not `started`. */
  stop(id: string, reason: RecordingStopReason): Promise<RecordingRow | undefined> {
    return this.#change(id, (change) => this.#stopLocked(change, reason))
  }

  /** Stops it if its timeout has passed and no participant publishes. */
  stopOverdue(id: string): Promise<RecordingRow | undefined> {
    return this.#change(id, async (change) => {
      const sql = `SELECT r.id FROM recording r WHERE r.id = $1 AND ${IS_OVERDUE}`
      const overdue = await rows<{ id: string }>(change.manager, sql, [id])
      return overdue.length > 0 ? this.#stopLocked(change, 'automaticStop') : undefined
    })
  }

  async #stopLocked(change: RecordingChange, reason: RecordingStopReason): Promise<RecordingRow | undefined> {
    if (change.row.status !== 'started') return undefined
    return this.#update(change, 'stopped', {
      reason,
      set: 'stop_reason = $2, autostop_at = NULL',
      values: [reason],
    })
  }

  /**
   * Stores the report of the end of a part; undefined when there is no such part, or it had ended. `isOnlyOpen` false:
   * files also replace an earlier end without files.
   */
  endPart(ended: RecordingEnded, { isOnlyOpen = true } = {}): Promise<RecordingRow | undefined> {
    const { recordingId: id, part, files } = ended
    return this.#change(id, async ({ manager, row }) => {
      const count = await execute(
        manager,
        `UPDATE recording_part SET ended = $3, ended_at = clock_timestamp()
         WHERE recording_id = $1 AND part = $2
           AND (ended IS NULL OR (NOT $4 AND ended->'files' = '[]'::jsonb AND $3::jsonb->'files' <> '[]'::jsonb))`,
        [id, part, JSON.stringify(ended), isOnlyOpen],
      )
      if (count === 0) return undefined
      if (!mayBecome(row.status, 'stopped') || isLive(row.status) || files.length === 0) return row
      // A lost media node came back with files: the recording is finished once more, with them.
      await execute(
        manager,
        `UPDATE recording SET status = 'stopped', is_recovered = true, attempts = 0, claimed_by = NULL, claimed_until = NULL,
                changed_at = clock_timestamp() WHERE id = $1`,
        [id],
      )
      return { ...row, status: 'stopped', isRecovered: true }
    })
  }

  /** Adds the part after `after`; undefined when that is not the last one, or there is nothing to record. */
  addPart(id: string, after: number): Promise<NewPart | undefined> {
    return this.#change(id, async ({ manager, row }) => {
      const last = await manager.maximum(RecordingPartEntity, 'part', { recordingId: id })
      const session = await firstRow<MaybePlace>(manager, `SELECT ${PLACE} FROM session WHERE unique_id = $1`, [
        row.uniqueSessionId,
      ])
      const place = session && placeOf(session)
      if (row.status !== 'started' || last !== after || !place) return undefined
      await manager.update(RecordingEntity, { id }, { mediaNodeId: place.nodeId })
      const recording = { ...row, mediaNodeId: place.nodeId }
      return { recording, place, part: await insertPart(manager, id, place) }
    })
  }

  /** Undefined when another master has the claim, or parts with files exist that the file was not made of. */
  markReady(id: string, made: FinishedFile, madeOf: readonly number[]): Promise<RecordingRow | undefined> {
    return this.#finish(id, 'ready', {
      set: ['size = $2', 'duration = $3', 'file = $4', 'has_audio = $5', 'has_video = $6'],
      values: [made.size, made.duration, made.file, made.hasAudio, made.hasVideo],
      madeOf,
    })
  }

  /** Undefined when another master has the claim. */
  markFailed(id: string, reason: string): Promise<RecordingRow | undefined> {
    return this.#finish(id, 'failed', { reason, set: [], values: [] })
  }

  #finish(
    id: string,
    status: 'ready' | 'failed',
    { reason, set, values, madeOf }: { reason?: string; set: string[]; values: unknown[]; madeOf?: readonly number[] },
  ): Promise<RecordingRow | undefined> {
    return this.#change(id, async (change) => {
      const { manager, row } = change
      if (!mayBecome(row.status, status)) return undefined
      // A master that was delayed may have lost its claim to another one.
      if (!(await manager.existsBy(RecordingEntity, { id, claimedBy: this.masterId }))) return undefined
      if (madeOf && (await hasOtherFiles(manager, id, madeOf))) return undefined
      return this.#update(change, status, {
        reason: reason ?? (row.isRecovered ? RECOVERED : row.stopReason) ?? undefined,
        set: [...set, 'claimed_by = NULL', 'claimed_until = NULL'].join(', '),
        values,
      })
    })
  }

  #change<T>(id: string, run: (change: RecordingChange) => Promise<T>): Promise<T | undefined> {
    return changeRecording(this.events, id, run)
  }

  async #update(
    { manager, record, row: { id } }: RecordingChange,
    status: ReportedState,
    { reason, set, values }: { reason?: string | undefined; set: string; values: unknown[] },
  ): Promise<RecordingRow> {
    const row = await firstRow<RecordingRow>(
      manager,
      `UPDATE recording r SET status = $${values.length + 2}, changed_at = clock_timestamp(), ${set}
       WHERE r.id = $1 RETURNING ${RECORDING_COLUMNS}`,
      [id, ...values, status],
    )
    if (!row) throw new Error(`recording ${id} vanished under its lock`)
    await record(this.#eventOf(row, status, reason))
    return row
  }

  #eventOf(row: RecordingRow, status: ReportedState, reason?: string): EventDraft {
    const options = { status, reason, now: this.clock.now(), isPaid: isPaid(this.config) }
    return recordingStatusChanged(row, options)
  }
}

/** True when other parts than these have files. */
async function hasOtherFiles(manager: EntityManager, id: string, parts: readonly number[]): Promise<boolean> {
  const others = await rows<{ part: number }>(
    manager,
    `SELECT part FROM recording_part WHERE recording_id = $1 AND ended->'files' <> '[]'::jsonb AND part <> ALL($2)`,
    [id, parts],
  )
  return others.length > 0
}
