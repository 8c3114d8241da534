import type { RecordingRemovalReason } from '@session-service/contract'
import type { EventDraft } from '../../events/event-drafts.js'
import type { RecordingRow } from './recording-row.js'
import { shownProperties } from './recording.view.js'

/** The statuses that have an event; `starting` has none. */
export type ReportedState = Exclude<RecordingRow['status'], 'starting'>

interface StatusChange {
  status: ReportedState
  reason?: string | undefined
  /** UTC ms. */
  now: number
  /** The media node is part of the event in the paid editions only. */
  isPaid: boolean
}

/**
 * The event of a new status. The timestamp of `started` is the time at which the recording started, as its `startTime`;
 * the event log moves it behind earlier events of the session.
 */
export function recordingStatusChanged(row: RecordingRow, { status, reason, now, isPaid }: StatusChange): EventDraft {
  const { name, outputMode, hasAudio, hasVideo, resolution, frameRate, recordingLayout, customLayout } =
    shownProperties(row)
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

interface Removal {
  reason: RecordingRemovalReason
  /** UTC ms. */
  now: number
}

const removalMembers = (row: RecordingRow, { reason, now }: Removal) => ({
  sessionId: row.sessionId,
  uniqueSessionId: row.uniqueSessionId,
  timestamp: now,
  id: row.id,
  name: row.properties.name,
  size: row.size,
  duration: row.duration,
  startTime: row.createdAt,
  reason,
})

/** The retention will delete the recording at `removalAt`, UTC ms. */
export const recordingRemovalAnnounced = (
  row: RecordingRow,
  { removalAt, ...removal }: Removal & { removalAt: number },
): EventDraft => ({ name: 'recordingRemovalAnnounced', payload: { ...removalMembers(row, removal), removalAt } })

/** The retention has deleted the recording. */
export const recordingRemoved = (row: RecordingRow, removal: Removal): EventDraft => ({
  name: 'recordingRemoved',
  payload: removalMembers(row, removal),
})
