import type { RecordingView } from '@session-service/contract'
import { recordingPropertiesView } from '../sessions/session.view.js'
import type { RecordingRow } from './recording.repository.js'

/** `url` only of a finished file; `mediaNode` in the paid editions. */
export function recordingView(row: RecordingRow, url: string | null, isPaid: boolean): RecordingView {
  const { mediaNode: _, ...properties } = recordingPropertiesView(row.properties)
  return {
    id: row.id,
    object: 'recording',
    ...properties,
    ...(isPaid && { mediaNode: row.mediaNodeId }),
    sessionId: row.sessionId,
    createdAt: row.createdAt,
    size: row.size,
    duration: row.duration,
    url: row.status === 'ready' ? url : null,
    status: row.status,
  }
}
