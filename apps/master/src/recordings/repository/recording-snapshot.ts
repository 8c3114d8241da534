import type { RecordingState } from './recording.entity.js'

/** The state of a part. Ages in ms. */
export interface PartSnapshot {
  part: number
  nodeId: string
  epoch: number
  isEnded: boolean
  /** It has no files, or only a few seconds. */
  isShort: boolean
  /** It ended or was refused because the disk is full. */
  isOutOfDisk: boolean
  /** Since its end; 0 before. */
  sinceEndMs: number
  /** It has not ended, but no media node has listed it for long enough to be sure that none records it. */
  isLost: boolean
  /** It has not ended, but its media node records it no longer: it makes or delivers its files. */
  isRecorded: boolean
}

/** The state of a recording, from which its next step follows. */
export interface RecordingSnapshot {
  status: RecordingState
  /** Since its status changed. */
  ageMs: number
  /** The master that starts it is alive. */
  hasStarter: boolean
  /** It was deleted, but not all of its files are removed. */
  isRemoved: boolean
  /** A master makes its file, or the next attempt is delayed. */
  isClaimed: boolean
  hasSession: boolean
  /** Media epoch of its session; null while the session has no media. */
  epoch: number | null
  /** In the order in which they were recorded. */
  parts: readonly PartSnapshot[]
}
