/** Records a session as one picture and one audio track. */
export interface Recorder {
  name: string
  start(): Promise<ActiveRecording>
}

/** A recording that is running. */
export interface ActiveRecording {
  /** Root processes that exist only for this recording; their descendants belong to it as well. */
  pids: readonly number[]
  /** Whether the media node started them. */
  isOfNode: boolean
  /** From the request until there were bytes in the file, ms. */
  bytesAfterMs: number
  /** From the request until a player could have shown a picture, ms. */
  decodableAfterMs: number
  /** Stops the recording regularly and returns the file that users get. */
  stop(): Promise<string>
  /** Ends the recording by force and discards it. */
  abort(): Promise<void>
}

export const VIDEO = { width: 1280, height: 720, frameRate: 25, kbps: 1_500 }
export const AUDIO_KBPS = 96
