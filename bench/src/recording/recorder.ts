/** A way to record a session as one picture and one sound. */
export interface Way {
  name: string
  start(): Promise<Running>
}

/** A recording that is being made. */
export interface Running {
  /** The processes that are there for it alone: these, and all below them. */
  pids: readonly number[]
  /** Whether the media node started them. */
  isOfNode: boolean
  /** From the request until there were bytes in the file, ms. */
  bytesAfterMs: number
  /** And until a player could have shown something of it. */
  decodableAfterMs: number
  /** Ends it in order; the file that users get. */
  stop(): Promise<string>
  /** Ends it somehow. */
  abandon(): Promise<void>
}

export const VIDEO = { width: 1280, height: 720, frameRate: 25, kbps: 1_500 }
export const AUDIO_KBPS = 96
