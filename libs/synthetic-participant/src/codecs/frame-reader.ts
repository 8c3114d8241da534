import { readH264 } from './h264-payload.js'
import { readPayload } from './vp8-payload.js'

/**
 * Detects complete VP8 or H.264 frames in the packets of a stream. A frame counts if its packets arrived in order and without gaps,
 * from its start to its marker.
 */
export class FrameReader {
  frames = 0
  keyFrames = 0
  width: number | undefined
  height: number | undefined
  /** The number of the next packet of the current frame; -1 without one. */
  #next = -1
  /**
   * The timestamp of the current frame. The number alone does not separate frames: after a pause, the SFU numbers a key
   * frame as if it continued the frame that the pause has cut off.
   */
  #timestamp = -1
  #key = false
  readonly #read: typeof readPayload

  constructor(mimeType = 'video/VP8') {
    this.#read = mimeType.toLowerCase() === 'video/h264' ? readH264 : readPayload
  }

  /** @returns the kind of the frame that the packet completes */
  read(unrolled: number, timestamp: number, payload: Buffer, marker: boolean): 'key' | 'inter' | undefined {
    const continues = unrolled === this.#next && timestamp === this.#timestamp
    if (!continues && !this.#begin(payload)) return undefined
    this.#timestamp = timestamp
    this.#next = unrolled + 1
    if (!marker) return undefined
    this.#next = -1
    this.frames++
    if (!this.#key) return 'inter'
    this.keyFrames++
    return 'key'
  }

  #begin(payload: Buffer): boolean {
    const first = this.#read(payload)
    this.#next = -1
    if (!first?.start) return false
    this.#key = first.key
    if (first.key) {
      this.width = first.width
      this.height = first.height
    }
    return true
  }
}
