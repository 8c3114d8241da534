import type { RecordingProperties } from '@session-service/contract'
import type { EntityManager } from 'typeorm'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { recordingId } from './recording-properties.js'
import { RECORDING_ROW, type RecordingRow } from './recording-reads.js'

/** What of the session a recording is begun with. */
export interface Recordable {
  id: string
  uniqueId: string
  recordingProperties: RecordingProperties
}

/** Whether the session is being recorded. */
export async function hasLive(manager: EntityManager, uniqueSessionId: string): Promise<boolean> {
  const rows = await manager.query<unknown[]>(
    `SELECT 1 FROM recording WHERE unique_session_id = $1 AND status IN ('starting', 'started')`,
    [uniqueSessionId],
  )
  return rows.length > 0
}

/** Takes the lowest id of the session that is free; another session may have one of these. */
export async function insertRecording(
  manager: EntityManager,
  session: Recordable,
  decide: (id: string) => RecordingProperties,
  {
    mediaNodeId,
    isAutomatic,
    claimedBy,
    now,
  }: { mediaNodeId: string; isAutomatic: boolean; claimedBy: string; now: number },
): Promise<RecordingRow> {
  const kept = await manager.query<{ id: string }[]>('SELECT id FROM recording WHERE session_id = $1', [session.id])
  const taken = new Set(kept.map(({ id }) => id))
  for (let nth = 0; ; nth++) {
    const id = recordingId(session.id, nth)
    if (taken.has(id)) continue
    const [row] = await manager.query<RecordingRow[]>(
      `INSERT INTO recording AS r (id, session_id, unique_session_id, status, created_at, properties, is_automatic,
                                   media_node_id, claimed_by)
       VALUES ($1, $2, $3, 'starting', $4, $5, $6, $7, $8) ON CONFLICT (id) DO NOTHING RETURNING ${RECORDING_ROW}`,
      [id, session.id, session.uniqueId, now, decide(id), isAutomatic, mediaNodeId, claimedBy],
    )
    if (row) return row
  }
}

/** Its number. */
export async function insertPart(
  manager: EntityManager,
  id: string,
  { nodeId, bootId, epoch }: RoomPlace,
): Promise<number> {
  const [row] = await manager.query<{ part: number }[]>(
    `INSERT INTO recording_part (recording_id, node_id, boot_id, media_epoch) VALUES ($1, $2, $3, $4) RETURNING part`,
    [id, nodeId, bootId, epoch],
  )
  if (!row) throw new Error('a part was not inserted')
  return row.part
}

/** Whether a part has brought files that is none of these. */
export async function hasMore(manager: EntityManager, id: string, parts: readonly number[]): Promise<boolean> {
  const more = await manager.query<unknown[]>(
    `SELECT 1 FROM recording_part WHERE recording_id = $1 AND ended->'files' <> '[]'::jsonb AND part <> ALL($2)`,
    [id, parts],
  )
  return more.length > 0
}
