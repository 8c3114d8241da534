import type { RecordingPropertiesView, RecordingView } from '@session-service/contract'
import { recordingPropertiesView } from '../../sessions/session.view.js'
import type { RecordingRow } from './recording-row.js'

/** The requested properties; `hasAudio` and `hasVideo` of a finished file are those of the file. */
export function shownProperties(
  row: Pick<RecordingRow, 'properties' | 'hasAudio' | 'hasVideo'>,
): RecordingPropertiesView {
  const requested = recordingPropertiesView(row.properties)
  return {
    ...requested,
    hasAudio: row.hasAudio ?? requested.hasAudio,
    hasVideo: row.hasVideo ?? requested.hasVideo,
  }
}

/** A recording as REST shows it: `url` once the file is finished, `mediaNode` in the paid editions. */
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
