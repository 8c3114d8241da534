import { type RecordingProperties, ServiceError } from '@session-service/contract'
import { type EntityManager, In } from 'typeorm'
import { execute, firstRow, rows } from '../../platform/database/sql.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { recordingId } from './recording-properties.js'
import { RECORDING_COLUMNS, type RecordingRow } from './recording-row.js'
import { RecordingEntity } from './recording.entity.js'

/** Any number that nothing else in the database locks: held while recordings are counted and inserted. */
const CREATION_LOCK = 7_230_011

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

/**
 * Locks the creation of recordings until the end of the transaction, and counts those that run. 0: no limit. NO_CAPACITY
 * when `most` recordings run.
 */
export async function limitRefusal(manager: EntityManager, most: number): Promise<ServiceError | undefined> {
  if (most === 0) return undefined
  // Statements of their own: the count sees what the former holder of the lock has committed.
  await execute(manager, 'SELECT pg_advisory_xact_lock($1)', [CREATION_LOCK])
  const running = await manager.countBy(RecordingEntity, { status: In(['starting', 'started']) })
  if (running < most) return undefined
  const text = `the cluster has its maximum of ${most} recordings (SERVICE_RECORDING_MAX_CONCURRENT)`
  return new ServiceError('NO_CAPACITY', text)
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
