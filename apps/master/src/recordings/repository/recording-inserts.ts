import type { RecordingProperties } from '@session-service/contract'
import type { EntityManager } from 'typeorm'
import { firstRow, rows } from '../../platform/database/sql.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { recordingId } from './recording-properties.js'
import { RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'

/** The columns of a session that the start of a recording reads. */
export interface RecordableSession {
  id: string
  uniqueSessionId: string
  recordingProperties: RecordingProperties
}

interface NewRecording {
  mediaNodeId: string
  isAutomatic: boolean
  claimedBy: string
  now: number
}

/** Inserts a `starting` recording under the lowest free id of the session; another session may have one of its ids. */
export async function insertRecording(
  manager: EntityManager,
  session: RecordableSession,
  decide: (id: string) => RecordingProperties,
  { mediaNodeId, isAutomatic, claimedBy, now }: NewRecording,
): Promise<RecordingRow> {
  const kept = await rows<{ id: string }>(manager, 'SELECT id FROM recording WHERE session_id = $1', [session.id])
  const taken = new Set(kept.map(({ id }) => id))
  for (let nth = 0; ; nth++) {
    const id = recordingId(session.id, nth)
    if (taken.has(id)) continue
    // Hand-written: a conflict is no error here, and the row is returned.
    const row = await firstRow<RecordingRow>(
      manager,
      `INSERT INTO recording AS r (id, session_id, unique_session_id, status, created_at, properties, is_automatic,
                                   media_node_id, claimed_by)
       VALUES ($1, $2, $3, 'starting', $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING RETURNING ${RECORDING_COLUMNS}`,
      [id, session.id, session.uniqueSessionId, now, decide(id), isAutomatic, mediaNodeId, claimedBy],
    )
    if (row) return row
  }
}

/** Inserts the next part of a recording and returns its number. */
export async function insertPart(
  manager: EntityManager,
  id: string,
  { nodeId, bootId, epoch }: RoomPlace,
): Promise<number> {
  // Hand-written: the number is an identity column that the statement returns.
  const row = await firstRow<{ part: number }>(
    manager,
    `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch) VALUES ($1, $2, $3, $4) RETURNING part`,
    [id, nodeId, bootId, epoch],
  )
  if (!row) throw new Error('a part was not inserted')
  return row.part
}
