import type { EntityManager } from 'typeorm'
import type { EventLog, RecordEvents } from '../../events/event-log.js'
import { firstRow, rows } from '../../platform/database/sql.js'
import { RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'

/** A recording under its lock, and the function that records the events of the change. */
export interface RecordingChange {
  manager: EntityManager
  record: RecordEvents
  row: RecordingRow
}

/**
 * Runs `run` under the locks of the session, if it exists, and of the recording; undefined when there is no such
 * recording.
 */
export function changeRecording<T>(
  events: EventLog,
  id: string,
  run: (change: RecordingChange) => Promise<T>,
): Promise<T | undefined> {
  return events.transaction(async (manager, record) => {
    await rows(
      manager,
      `SELECT 1 FROM session WHERE unique_id = (SELECT unique_session_id FROM recording WHERE id = $1)
       FOR NO KEY UPDATE`,
      [id],
    )
    const row = await firstRow<RecordingRow>(
      manager,
      `SELECT ${RECORDING_COLUMNS} FROM recording r WHERE r.id = $1 AND r.removed_at IS NULL FOR UPDATE`,
      [id],
    )
    return row && run({ manager, record, row })
  })
}
