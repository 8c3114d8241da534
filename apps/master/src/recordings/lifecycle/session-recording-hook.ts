import { type DisconnectReason, RecordingStopReason } from '@session-service/contract'
import { Inject, Injectable } from '@nestjs/common'
import type { EntityManager } from 'typeorm'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { isPaid } from '../../platform/config/edition.js'
import { KeyedStatement } from '../../platform/database/keyed-statement.js'
import {
  type EmptiedSession,
  type EndedWithSession,
  type EndingSession,
  type SessionEndHandler,
  SessionEndHook,
} from '../../sessions/session-end-hooks.js'
import { recordingStatusChanged } from '../repository/recording.events.js'
import { RecordingPresence } from '../repository/recording-presence.js'
import { RECORDING_COLUMNS, type RecordingRow } from '../repository/recording-row.js'

/** After these reasons participants may return: the recording waits for them until its timeout. */
const MAY_RETURN: readonly DisconnectReason[] = [
  'disconnect',
  'forceDisconnectByUser',
  'forceDisconnectByServer',
  'networkDisconnect',
]

const KEEP = new KeyedStatement<{ uniqueSessionId: string }>(
  (is) => `UPDATE recording SET autostop_at = clock_timestamp() + $2 * interval '1 second'
    WHERE unique_session_id ${is} AND status IN ('starting', 'started') AND NOT is_automatic
    RETURNING unique_session_id AS "uniqueSessionId"`,
)
const STOP_AUTOMATIC = new KeyedStatement(
  (is) => `UPDATE recording SET autostop_at = clock_timestamp()
    WHERE unique_session_id ${is} AND status IN ('starting', 'started') AND is_automatic`,
)
const STOP = new KeyedStatement<RecordingRow>(
  (is) => `UPDATE recording r
    SET status = 'stopped', stop_reason = e.reason, autostop_at = NULL, changed_at = clock_timestamp()
    FROM unnest($1::text[], $2::text[]) AS e(unique_session_id, reason)
    WHERE r.unique_session_id ${is} AND r.unique_session_id = e.unique_session_id AND r.status = 'started'
    RETURNING ${RECORDING_COLUMNS}`,
)
const CANCEL = new KeyedStatement<RecordingRow>(
  (is) =>
    `DELETE FROM recording r WHERE unique_session_id ${is} AND status = 'starting' RETURNING ${RECORDING_COLUMNS}`,
)

const stopReasonOf = ({ reason }: EndingSession): RecordingStopReason =>
  RecordingStopReason.safeParse(reason).data ?? 'lastParticipantLeft'

/**
 * Keeps sessions for their recordings, or stops the recordings with their sessions. Hand-written statements: they run
 * under the locks of the sessions, return the changed rows and use the database's clock.
 */
@Injectable()
@SessionEndHook()
export class SessionRecordingHook implements SessionEndHandler {
  constructor(
    private readonly presence: RecordingPresence,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** A session stays until the timeout of a recording that was started by request. */
  async keep(manager: EntityManager, emptied: readonly EmptiedSession[]): Promise<ReadonlySet<string>> {
    const seconds = this.config.SERVICE_RECORDING_AUTOSTOP_TIMEOUT
    const waiting = emptied.filter(({ reason }) => MAY_RETURN.includes(reason))
    if (!this.presence.mayExist || seconds === 0 || waiting.length === 0) return new Set()
    const ids = waiting.map(({ uniqueSessionId }) => uniqueSessionId)
    const kept = await KEEP.rows(manager, ids, seconds)
    return new Set(kept.map(({ uniqueSessionId }) => uniqueSessionId))
  }

  /** The recording of the mode ALWAYS lasts until the last participant leaves. */
  async deserted(manager: EntityManager, uniqueSessionIds: readonly string[]): Promise<void> {
    if (this.presence.mayExist) await STOP_AUTOMATIC.rows(manager, uniqueSessionIds)
  }

  /**
   * Stops the recordings of sessions that end, and deletes those that are starting. The events come after those of the
   * participants and before that of the session.
   */
  async end(
    manager: EntityManager,
    ending: readonly EndingSession[],
    now: number,
  ): Promise<ReadonlyMap<string, EndedWithSession>> {
    if (!this.presence.mayExist) return new Map()
    const common = { now, isPaid: isPaid(this.config) }
    const ids = ending.map(({ uniqueSessionId }) => uniqueSessionId)
    const stopped = await STOP.rows(manager, ids, ending.map(stopReasonOf))
    const cancelled = await CANCEL.rows(manager, ids)
    return new Map(
      ending.map((session) => {
        const reason = stopReasonOf(session)
        const isOfSession = ({ uniqueSessionId }: RecordingRow): boolean => uniqueSessionId === session.uniqueSessionId
        const own = stopped.filter(isOfSession)
        const events = [
          ...own.map((row) => recordingStatusChanged(row, { status: 'stopped', reason, ...common })),
          ...cancelled
            .filter(isOfSession)
            .map((row) => recordingStatusChanged(row, { status: 'failed', reason, ...common })),
        ]
        return [session.uniqueSessionId, { events, recordingIds: own.map(({ id }) => id) }]
      }),
    )
  }
}
