import type { RecordedFile, RecordingJob } from '@session-service/contract'
import type { ReferenceClock } from '@session-service/server-kit'
import type { Room } from '../../rooms/room.js'

export interface RecorderContext {
  job: RecordingJob
  room: Room
  /** The folder for its files; not shared. */
  folder: string
  /** The clock of all reported times. */
  clock: Pick<ReferenceClock, 'now'>
  /** Called once when the recording ends other than by `stop`; for example, when the room closes. */
  onEnded: (failure?: string) => void
  /**
   * Receives the files so far, still without sizes and ends, so that their owners are known if the node dies. Without
   * it, a salvaged file counts as a file of the whole room that started with the recording.
   */
  onFiles?: (files: readonly RecordedFile[]) => void
}

/** Records one part into files that stay playable when their writer dies. */
export interface Recorder {
  /**
   * Resolves once the first bytes are in a file, with the time of the earliest media in the files: no file starts
   * earlier. Rejects with a ServiceError.
   */
  start(): Promise<number>
  /** Stops gracefully in any state. Resolves with the recorded files. */
  stop(): Promise<RecordedFile[]>
}

export type RecorderFactory = (context: RecorderContext) => Recorder
