import { columns } from '../../platform/database/sql.js'
import type { RoomPlace } from '../../media-nodes/room-place.js'
import { RecordingEntity } from './recording.entity.js'

const FIELDS = [
  'id',
  'sessionId',
  'uniqueSessionId',
  'status',
  'createdAt',
  'properties',
  'isAutomatic',
  'size',
  'duration',
  'hasAudio',
  'hasVideo',
  'file',
  'stopReason',
  'mediaNodeId',
  'attempts',
  'isRecovered',
] as const satisfies readonly (keyof RecordingEntity)[]

/** The columns of a recording that features use. */
export type RecordingRow = Pick<RecordingEntity, (typeof FIELDS)[number]>

/** A part that a media node is to record. */
export interface NewPart {
  recording: RecordingRow
  part: number
  place: RoomPlace
}

export type FinishedFile = Pick<RecordingRow, 'size' | 'duration' | 'hasAudio' | 'hasVideo'> & { file: string }

/** The select list of a RecordingRow, for statements that call the table `r`. */
export const RECORDING_COLUMNS = columns(RecordingEntity, 'r', FIELDS)

/** The failure of a part that ends because its media node is gone. The node may still come back with its files. */
export const LOST_NODE_FAILURE = 'its media node was lost'

/** Condition on `recording r`: it is running, or its file is being made. */
export const IS_UNFINISHED = `r.status IN ('starting', 'started', 'stopped')`

/**
 * SQL condition on `recording r`: its timeout has passed and no participant publishes, cameras apart. The recording of a
 * session without other participants stops at once when the recorded media is lost, because nothing more can be recorded.
 * An automatic recording continues with any participant, and with a camera that is connecting.
 */
export const IS_OVERDUE = `r.autostop_at IS NOT NULL AND (r.autostop_at < clock_timestamp() OR EXISTS (
    SELECT 1 FROM session w WHERE w.unique_id = r.unique_session_id
      AND NOT EXISTS (SELECT 1 FROM connection c WHERE c.session_id = w.id AND c.status = 'active' AND c.type = 'WEBRTC')
      AND (w.media_node_id IS NULL OR NOT EXISTS (
        SELECT 1 FROM recording_part p
        WHERE p.recording_id = r.id AND p.media_epoch = w.media_epoch AND p.started_at IS NOT NULL))))
  AND NOT EXISTS (SELECT 1 FROM stream p JOIN connection k ON k.id = p.connection_id
                  WHERE p.session_id = r.session_id AND k.type = 'WEBRTC')
  AND NOT (r.is_automatic AND EXISTS (
    SELECT 1 FROM connection c WHERE c.session_id = r.session_id
      AND (c.status = 'active' OR c.status = 'awaited' AND c.type = 'IPCAM')))`
