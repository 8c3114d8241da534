import type { RecordingState } from './recording.entity.js'

/** The statuses that may follow each status; `starting` is the first. A start that fails deletes the row. */
const NEXT: Record<RecordingState, readonly RecordingState[]> = {
  starting: ['started'],
  started: ['stopped'],
  stopped: ['ready', 'failed'],
  // A media node came back late with files.
  ready: ['stopped'],
  failed: ['stopped'],
}

export const mayBecome = (from: RecordingState, to: RecordingState): boolean => NEXT[from].includes(to)

/** True while it is being recorded: it belongs to its session, and cannot be deleted. */
export const isLive = (status: RecordingState): boolean => status === 'starting' || status === 'started'
