import type { RecordingDelivery, RecordingEnded } from '@session-service/contract'
import type { RecordingEntity, RecordingOfFiles } from '../repository/recording.entity.js'

/** The finished file. */
export interface AssembledRecording {
  /** Bytes; of an INDIVIDUAL recording the sum of its media files. */
  size: number
  /** Seconds, with decimals. */
  duration: number
  hasAudio: boolean
  hasVideo: boolean
  /** Its name in the recording's folder, `<name>.<ext>`. */
  file: string
}

/** The files of recordings: how nodes deliver them, how they become one, where they are kept. */
export abstract class RecordingStore {
  /** Refuses with NO_CAPACITY when there is no room for another recording, or no folder to write to. */
  abstract requireSpace(): Promise<void>

  /** How a node delivers the files of this part: into `<SERVICE_RECORDING_PATH>/.parts/<id>/<part>/`. */
  abstract delivery(recording: Pick<RecordingEntity, 'id'>, part: number): Promise<RecordingDelivery>

  /**
   * Makes the finished file of the parts, which are in their order, some perhaps without files, and stores it. Again
   * after it was cut off, or done: the same. Rejects with NOT_FOUND when nothing in the parts can be made a file;
   * UNAVAILABLE and NO_CAPACITY are tried again for as long as it takes, other errors a few times. `signal` is aborted
   * when the recording is deleted, or another master has taken over.
   */
  abstract assemble(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    signal: AbortSignal,
  ): Promise<AssembledRecording>

  /** What nodes delivered and is in the finished file, once no other will be made; what could not be read stays. */
  abstract removeSpentParts(recording: RecordingOfFiles): Promise<void>

  /** Recordings that something of what nodes delivered is there of. */
  abstract idsWithParts(): Promise<string[]>

  /** With the description of its files, which was delivered if it was long. */
  abstract readDescription(ended: RecordingEnded): Promise<RecordingEnded>

  /** What a node may have delivered of a part that is none. */
  abstract removePart(recording: Pick<RecordingEntity, 'id'>, part: number): Promise<void>

  /** Everything of the recording: finished files, and what nodes delivered. Not there: nothing happens. */
  abstract remove(recording: RecordingOfFiles): Promise<void>

  /** Where the finished file can be fetched. */
  abstract url(recording: RecordingOfFiles & { file: string }): string
}
