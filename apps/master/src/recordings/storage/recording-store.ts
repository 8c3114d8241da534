import type { RecordingDelivery, RecordingEnded } from '@session-service/contract'
import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'
import type { RecordingEntity, RecordingOfFiles } from '../repository/recording.entity.js'

/** A finished file. */
export interface AssembledRecording {
  /** Bytes; of an INDIVIDUAL recording the sum of its media files. */
  size: number
  /** Seconds, with decimals. */
  duration: number
  hasAudio: boolean
  hasVideo: boolean
  /** The name in the recording's folder, `<name>.<ext>`. */
  file: string
}

/** The files of recordings: delivery by media nodes, the finished file, and its storage. */
export abstract class RecordingStore {
  /** @throws ServiceError NO_CAPACITY without space for another recording, or without a writable folder */
  abstract requireSpace(): Promise<void>

  /** Where a media node delivers the files of this part: into `<SERVICE_RECORDING_PATH>/.parts/<id>/<part>/`. */
  abstract delivery(recording: Pick<RecordingEntity, 'id'>, part: number): Promise<RecordingDelivery>

  /**
   * Makes the finished file of the parts and stores it. Idempotent, also after an interruption. The parts are in the
   * order in which they were recorded; some may have no files. `signal` is aborted when the recording is deleted, or
   * another master has the claim. The sentences of the transcript become subtitles. Callers retry UNAVAILABLE and NO_CAPACITY without limit, other errors a few times.
   * @throws ServiceError NOT_FOUND when no file can be made of the parts
   */
  abstract assemble(
    recording: RecordingOfFiles,
    parts: readonly RecordingEnded[],
    signal: AbortSignal,
    sentences?: readonly SpokenSentence[],
  ): Promise<AssembledRecording>

  /** Removes delivered files that the finished file contains. Files that could not be read are kept. */
  abstract removeSpentParts(recording: RecordingOfFiles): Promise<void>

  /** Ids of the recordings with delivered files. */
  abstract idsWithParts(): Promise<string[]>

  /** Adds the list of files from its delivered description: a long list is not part of the report. */
  abstract readDescription(ended: RecordingEnded): Promise<RecordingEnded>

  /** Removes what a media node delivered of a part that was withdrawn. */
  abstract removePart(recording: Pick<RecordingEntity, 'id'>, part: number): Promise<void>

  /** Removes all files of the recording, finished and delivered, if there are any. */
  abstract remove(recording: RecordingOfFiles): Promise<void>

  /** The URL of the finished file. */
  abstract url(recording: RecordingOfFiles & { file: string }): string
}
