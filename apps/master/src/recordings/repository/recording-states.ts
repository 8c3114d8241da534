import type { RecordingState } from './recording.entity.js'

/** Which statuses may follow which; `starting` is the first. A start that fails ends with the row. */
const NEXT: Record<RecordingState, readonly RecordingState[]> = {
  starting: ['started'],
  started: ['stopped'],
  stopped: ['ready', 'failed'],
  // The files of a node that came back late.
  ready: ['stopped'],
  failed: ['stopped'],
}

export const mayBecome = (from: RecordingState, to: RecordingState): boolean => NEXT[from].includes(to)

/** It is being made: its session has it, and it cannot be deleted. */
export const isLive = (status: RecordingState): boolean => status === 'starting' || status === 'started'
