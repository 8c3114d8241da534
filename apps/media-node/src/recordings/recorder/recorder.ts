import type { RecordedFile, RecordingJob } from '@session-service/contract'
import type { ReferenceClock } from '@session-service/server-kit'
import type { Room } from '../../rooms/room.js'

/** What a recorder is given. */
export interface RecorderContext {
  job: RecordingJob
  room: Room
  /** Where it writes, its own alone. */
  folder: string
  /** Time of all points that it reports. */
  clock: Pick<ReferenceClock, 'now'>
  /** Called once when it can record no more, otherwise than by `stop`; the room's end is one such case. */
  onEnded: (failure?: string) => void
  /**
   * May be told of the files that there are so far, sizes and ends not known yet, so that their owners are known should
   * the node die. Without it a file is taken to be the whole room's, begun when the recording was.
   */
  onFiles?: (files: readonly RecordedFile[]) => void
}

/** Records one part, into files that survive the death of whoever writes them. */
export interface Recorder {
  /**
   * Resolves once the first bytes are in a file, with the time of the earliest media in the files: no file starts
   * earlier. Rejects with a ServiceError.
   */
  start(): Promise<number>
  /** Ends in order, whatever has happened before; what there is. */
  stop(): Promise<RecordedFile[]>
}

export type RecorderFactory = (context: RecorderContext) => Recorder
