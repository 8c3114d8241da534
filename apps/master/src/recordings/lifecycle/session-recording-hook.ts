import { type DisconnectReason, RecordingStopReason, type SessionEndReason } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { execute, rows } from '../../platform/database/sql.js'
import { type EndedWithSession, type SessionEndHandler, SessionEndHook } from '../../sessions/session-end-hooks.js'
import { recordingStatusChanged } from '../repository/recording.events.js'
import { RECORDING_COLUMNS, type RecordingRow } from '../repository/recording-row.js'

/** After these reasons participants may return: the recording waits for them until its timeout. */
const MAY_RETURN: readonly DisconnectReason[] = [
  'disconnect',
  'forceDisconnectByUser',
  'forceDisconnectByServer',
  'networkDisconnect',
]

/**
 * Keeps a session for its recording, or stops the recording with the session. Hand-written statements: they run under
 * the lock of the session, return the changed rows and use the database's clock.
 */
@Injectable()
@SessionEndHook()
export class SessionRecordingHook implements SessionEndHandler {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  /**
   * The last participant has left. True keeps the session until the timeout of a recording that was started by request.
   * The row of the session is locked.
   */
  async keep(manager: EntityManager, uniqueSessionId: string, reason: DisconnectReason): Promise<boolean> {
    const seconds = this.config.SERVICE_RECORDING_AUTOSTOP_TIMEOUT
    if (!this.config.SERVICE_RECORDING || seconds === 0 || !MAY_RETURN.includes(reason)) return false
    const count = await execute(
      manager,
      `UPDATE recording SET autostop_at = clock_timestamp() + $2 * interval '1 second'
       WHERE unique_session_id = $1 AND status IN ('starting', 'started') AND NOT is_automatic`,
      [uniqueSessionId, seconds],
    )
    return count > 0
  }

  /**
   * The session ends: stops its recording, and deletes one that is starting. The row of the session is locked. The
   * events come after those of the participants and before that of the session.
   */
  async end(
    manager: EntityManager,
    uniqueSessionId: string,
    reason: SessionEndReason,
    now: number,
  ): Promise<EndedWithSession> {
    if (!this.config.SERVICE_RECORDING) return { events: [], recordingIds: [] }
    const stopReason = RecordingStopReason.safeParse(reason).data ?? 'lastParticipantLeft'
    const isPaid = this.config.SERVICE_EDITION !== 'ce'
    const stopped = await rows<RecordingRow>(
      manager,
      `UPDATE recording r SET status = 'stopped', stop_reason = $2, autostop_at = NULL, changed_at = clock_timestamp()
       WHERE unique_session_id = $1 AND status = 'started' RETURNING ${RECORDING_COLUMNS}`,
      [uniqueSessionId, stopReason],
    )
    const cancelled = await rows<RecordingRow>(
      manager,
      `DELETE FROM recording r WHERE unique_session_id = $1 AND status = 'starting' RETURNING ${RECORDING_COLUMNS}`,
      [uniqueSessionId],
    )
    return {
      events: [
        ...stopped.map((row) => recordingStatusChanged(row, { status: 'stopped', reason: stopReason, now, isPaid })),
        ...cancelled.map((row) => recordingStatusChanged(row, { status: 'failed', reason: stopReason, now, isPaid })),
      ],
      recordingIds: stopped.map(({ id }) => id),
    }
  }
}
