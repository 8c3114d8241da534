/** Longer than a talk spurt's pauses, shorter than the time in which clocks drift by what may be heard. */
const WINDOW_MS = 10_000
/** Fewer values do not contain one packet without queueing delay. */
const MIN_VALUES = 10

/**
 * Estimates how much later packets arrive than their positions say, without the delay of queues: the minimum over 10 to
 * 20 s. Clocks of publishers drift by up to some 100 ppm, 0.4 s per hour.
 */
export class DriftEstimator {
  #windowEnd = -Infinity
  #count = 0
  #minimum = Infinity
  #previous = Infinity

  /** @param delay the time of arrival less the end of the packet on the timeline, in samples */
  add(delay: number, now: number): void {
    if (now >= this.#windowEnd) {
      this.#previous = this.#count >= MIN_VALUES ? this.#minimum : Infinity
      this.#minimum = Infinity
      this.#count = 0
      this.#windowEnd = now + WINDOW_MS
    }
    this.#count++
    this.#minimum = Math.min(this.#minimum, delay)
  }

  /** A packet that arrives before its position proves that positions are late; the opposite takes a whole window. */
  get drift(): number {
    return Math.min(this.#previous === Infinity ? 0 : this.#previous, this.#minimum)
  }

  /** The timeline has moved by `samples`. */
  moved(samples: number): void {
    this.#minimum -= samples
    this.#previous -= samples
  }

  reset(): void {
    this.#windowEnd = -Infinity
    this.#count = 0
    this.#minimum = Infinity
    this.#previous = Infinity
  }
}
