import { type DisconnectReason, RecordingStopReason, type SessionEndReason } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { updated } from '../../platform/database/updated.js'
import { type EndedWithSession, type SessionEndHandler, SessionEndHook } from '../../sessions/session-end-hooks.js'
import { recordingStatusChanged } from '../repository/recording.events.js'
import { RECORDING_ROW, type RecordingRow } from '../repository/recording.repository.js'

/** Users may come back after these; what was recorded with them waits for a while. */
const MAY_COME_BACK: readonly DisconnectReason[] = [
  'disconnect',
  'forceDisconnectByUser',
  'forceDisconnectByServer',
  'networkDisconnect',
]

/** Keeps a session for its recording, or stops the recording with the session. */
@Injectable()
@SessionEndHook()
export class SessionRecordingHook implements SessionEndHandler {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  /**
   * The last participant has gone: whether the session is kept for a while, for its recording that somebody asked for.
   * The session's row is locked.
   */
  async keep(manager: EntityManager, uniqueSessionId: string, reason: DisconnectReason): Promise<boolean> {
    const seconds = this.config.SERVICE_RECORDING_AUTOSTOP_TIMEOUT
    if (!this.config.SERVICE_RECORDING || seconds === 0 || !MAY_COME_BACK.includes(reason)) return false
    const kept = await updated<unknown>(
      manager,
      `UPDATE recording SET autostop_at = clock_timestamp() + $2 * interval '1 second'
       WHERE unique_session_id = $1 AND status IN ('starting', 'started') AND NOT is_automatic RETURNING 1`,
      [uniqueSessionId, seconds],
    )
    return kept.length > 0
  }

  /**
   * The session ends: its recording stops, one that was starting is none. The session's row is locked; the events come
   * after those of the participants, before that of the session.
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
    const stopped = await updated<RecordingRow>(
      manager,
      `UPDATE recording r SET status = 'stopped', stop_reason = $2, autostop_at = NULL, changed_at = clock_timestamp()
       WHERE unique_session_id = $1 AND status = 'started' RETURNING ${RECORDING_ROW}`,
      [uniqueSessionId, stopReason],
    )
    const cut = await updated<RecordingRow>(
      manager,
      `DELETE FROM recording r WHERE unique_session_id = $1 AND status = 'starting' RETURNING ${RECORDING_ROW}`,
      [uniqueSessionId],
    )
    return {
      events: [
        ...stopped.map((row) => recordingStatusChanged(row, { status: 'stopped', reason: stopReason, now, isPaid })),
        ...cut.map((row) => recordingStatusChanged(row, { status: 'failed', reason: stopReason, now, isPaid })),
      ],
      recordingIds: stopped.map(({ id }) => id),
    }
  }
}
