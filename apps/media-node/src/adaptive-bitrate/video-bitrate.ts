/** Cameras send a key frame every few seconds, which is much larger than the other pictures. */
const WINDOW_MS = 5_000
const LEAST_MS = 2_000

/** The average bitrate of a video in the last seconds. */
export class VideoBitrate {
  #counts: readonly { bytes: number; at: number }[] = []

  /** 0: unknown, or nothing is sent. */
  get kbps(): number {
    const [first, last] = [this.#counts[0], this.#counts.at(-1)]
    if (!first || !last || last.at - first.at < LEAST_MS) return 0
    return ((last.bytes - first.bytes) * 8) / (last.at - first.at)
  }

  /** @param at the time of the count, ms */
  counted(bytes: number, at: number): void {
    const last = this.#counts.at(-1)
    const isAnother = last !== undefined && bytes < last.bytes
    const former = isAnother ? [] : this.#counts.filter((count) => count.at >= at - WINDOW_MS)
    this.#counts = [...former, { bytes, at }]
  }
}
