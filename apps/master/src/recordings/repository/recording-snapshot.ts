import type { RecordingState } from './recording.entity.js'

/** A part as it stands. Ages in ms. */
export interface PartSnapshot {
  part: number
  nodeId: string
  epoch: number
  isEnded: boolean
  /** It brought no files, or only a few seconds. */
  isPoor: boolean
  /** A full disk ended or refused it. */
  isOutOfDisk: boolean
  /** Since its end; 0 before. */
  endedForMs: number
  /** Not ended, but no node runs it any more, for long enough to be sure. */
  isLost: boolean
}

export interface RecordingSnapshot {
  status: RecordingState
  /** In its status. */
  ageMs: number
  /** The master that starts it lives. */
  hasStarter: boolean
  /** It was deleted, its files are not all gone. */
  isRemoved: boolean
  /** Its file is being made, or it is tried again later. */
  isClaimed: boolean
  hasSession: boolean
  /** Of the media that its session has; null while it has none. */
  epoch: number | null
  /** In their order. */
  parts: readonly PartSnapshot[]
}
