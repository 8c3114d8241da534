import type { SpokenSentence } from '../../speech-to-text/transcript-formats.js'

/** The circumstances of one attempt to make a file. */
export interface MuxJob {
  recordingId: string
  /** Temporary folder for everything that is made, until it is complete. */
  scratchDir: string
  signal: AbortSignal
  /** The sentences of the transcript for subtitles, by their begin. */
  sentences: readonly SpokenSentence[]
}

/** The subtitles of a media file in one language. */
export interface Subtitles {
  /** The language model, as in the transcript. */
  lang: string
  /** A WebVTT file in the time of the media file. */
  path: string
}

/** A file that was made and is still in the temporary folder. */
export interface MuxedFile {
  path: string
  extension: string
  /** Path of a picture; undefined when there is none. */
  thumbnail?: string
  /** Bytes. */
  size: number
  /** Seconds. */
  duration: number
  hasAudio: boolean
  hasVideo: boolean
  /** Parts with a file that cannot be read. */
  leftOut: number[]
  /** To be stored beside the file. */
  subtitles: Subtitles[]
}

/** The properties of a file without its place and parts. */
export type MuxedMedia = Omit<MuxedFile, 'path' | 'extension' | 'leftOut' | 'subtitles'>
