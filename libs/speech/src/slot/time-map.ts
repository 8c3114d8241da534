import { SAMPLE_RATE } from '../engines/engine.js'

interface Segment {
  /** Samples written to the engine before the segment. */
  written: number
  /** The position of its first sample in the stream. */
  position: number
}

/** Segments that end this long before the newest one can have no more results, samples. */
const KEPT = 60 * SAMPLE_RATE

/**
 * Engines count the samples that were written to them; the stream counts real time, which goes on while the gate is
 * closed. Converts the first into the second.
 */
export class TimeMap {
  readonly #segments: Segment[] = []
  #written = 0
  #next = 0

  /** `length` samples from `position` on are written. */
  add(position: number, length: number): void {
    if (this.#segments.length === 0 || position !== this.#next) this.#begin(position)
    this.#written += length
    this.#next = position + length
  }

  /** Seconds of the stream for seconds of the engine. */
  toStream(seconds: number): number {
    const written = seconds * SAMPLE_RATE
    const segment = this.#segments.findLast((each) => each.written <= written) ?? this.#segments[0]
    return segment ? (segment.position + written - segment.written) / SAMPLE_RATE : seconds
  }

  /** As `toStream` for the end of a word: on the edge of two segments it belongs to the first. */
  toStreamEnd(seconds: number): number {
    const written = seconds * SAMPLE_RATE
    const segment = this.#segments.findLast((each) => each.written < written) ?? this.#segments[0]
    return segment ? (segment.position + written - segment.written) / SAMPLE_RATE : seconds
  }

  #begin(position: number): void {
    this.#segments.push({ written: this.#written, position })
    while (this.#segments[1] && this.#segments[1].written < this.#written - KEPT) this.#segments.shift()
  }
}
