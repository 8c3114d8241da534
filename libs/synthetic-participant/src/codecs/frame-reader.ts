import { readPayload } from './vp8-payload.js'

/**
 * Tells whole VP8 frames from the packets of a stream. A frame counts when its packets came one after the other from its
 * start to its marker; one whose packets came out of order or with a gap is passed over.
 */
export class FrameReader {
  frames = 0
  keyFrames = 0
  width: number | undefined
  height: number | undefined
  /** The number of the packet that would continue the frame at hand; -1 when there is none. */
  #next = -1
  #key = false

  /** @returns what this packet completed */
  read(unrolled: number, payload: Buffer, marker: boolean): 'key' | 'inter' | undefined {
    if (unrolled !== this.#next && !this.#begin(payload)) return undefined
    this.#next = unrolled + 1
    if (!marker) return undefined
    this.#next = -1
    this.frames++
    if (!this.#key) return 'inter'
    this.keyFrames++
    return 'key'
  }

  #begin(payload: Buffer): boolean {
    const first = readPayload(payload)
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
