import type { EventDraft } from '../../events/event-drafts.js'
import type { RecordingRow } from './recording.repository.js'
import { shownProperties } from './recording.view.js'

/** Nobody is told of `starting`. */
export type ToldState = Exclude<RecordingRow['status'], 'starting'>

/**
 * `isPaid`: which node it is on is told only there. A `started` has the time at which the recording started, as its
 * `startTime`; the event log moves it behind what the session was told meanwhile.
 */
export function recordingStatusChanged(
  row: RecordingRow,
  told: { status: ToldState; reason?: string | undefined; now: number; isPaid: boolean },
): EventDraft {
  const { name, outputMode, hasAudio, hasVideo, resolution, frameRate, recordingLayout, customLayout } =
    shownProperties(row)
  const { status, reason, now, isPaid } = told
  return {
    name: 'recordingStatusChanged',
    payload: {
      sessionId: row.sessionId,
      uniqueSessionId: row.uniqueSessionId,
      timestamp: status === 'started' ? row.createdAt : now,
      id: row.id,
      name,
      outputMode,
      hasAudio,
      hasVideo,
      ...(resolution !== undefined && { resolution, frameRate, recordingLayout }),
      ...(customLayout !== undefined && { customLayout }),
      size: row.size,
      duration: row.duration,
      status,
      startTime: row.createdAt,
      ...(reason !== undefined && { reason }),
      ...(isPaid && resolution !== undefined && { media_node_id: row.mediaNodeId }),
    },
  }
}
