import type { RecordingPropertiesView, RecordingView } from '@session-service/contract'
import { recordingPropertiesView } from '../../sessions/session.view.js'
import type { RecordingRow } from './recording.repository.js'

/** What was asked for; of a finished file, whether it has sound and pictures. */
export function shownProperties(
  row: Pick<RecordingRow, 'properties' | 'hasAudio' | 'hasVideo'>,
): RecordingPropertiesView {
  const wanted = recordingPropertiesView(row.properties)
  return { ...wanted, hasAudio: row.hasAudio ?? wanted.hasAudio, hasVideo: row.hasVideo ?? wanted.hasVideo }
}

/** `url` only of a finished file; `mediaNode` in the paid editions. */
export function recordingView(row: RecordingRow, url: string | null, isPaid: boolean): RecordingView {
  const { mediaNode: _, ...properties } = shownProperties(row)
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
