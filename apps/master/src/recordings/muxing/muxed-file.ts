/** The circumstances of one attempt to make a file. */
export interface MuxJob {
  /** Temporary folder for everything that is made, until it is complete. */
  scratchDir: string
  signal: AbortSignal
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
}

/** The properties of a file without its place and parts. */
export type MuxedMedia = Omit<MuxedFile, 'path' | 'extension' | 'leftOut'>
