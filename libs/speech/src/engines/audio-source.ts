/**
 * The audio of one stream in 16 kHz mono, gated by voice activity. Positions are samples since the begin of the stream
 * in real time: where the gate was closed, the position of the next frame jumps.
 */
export interface AudioSource {
  /** The time of position 0 on the clock of `performance.now()`; known after the start. */
  readonly startedAt: number
  /** Audio goes to `sink` from now on. Called once. Resolves to the address to which the audio has to be sent, if any. */
  start(sink: AudioSink): Promise<AudioAddress>
  /** No method of the sink is called afterwards. */
  close(): Promise<void>
}

export interface AudioAddress {
  ip?: string
  port?: number
}

/** Takes the audio of a stream. Its methods return at once; the sink bounds its own queue. */
export interface AudioSink {
  /** Speech, or silence between words. The sink keeps `samples`. */
  frame(position: number, samples: Int16Array): void
  /** The speaker is silent since `position`. */
  utteranceEnd(position: number): void
  /** No more audio comes; with an error when it broke off. */
  ended(error?: Error): void
  /** Resolves when little audio waits. Only a source that is quicker than real time needs it. */
  drained(): Promise<void>
}
