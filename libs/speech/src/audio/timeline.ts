import { DriftEstimator } from './drift-estimator.js'
import { timestampDistance } from './serial-numbers.js'

interface Timed {
  /** RTP timestamp at 48 kHz, 32 bits. */
  timestamp: number
  /** The duration at 48 kHz. */
  samples: number
}

export interface Arrival {
  /** Since the begin of the timeline, ms. */
  at: number
  /** False for packets that may have waited in the socket's buffer because this process was stalled. */
  isTimely: boolean
  /** The timestamps have a new base. */
  isRestart?: boolean
  /** The packet is not for the recognizer: the timeline may be adjusted to real time here. */
  canAdjust?: boolean
}

/** Samples at 16 kHz. */
export interface Placement {
  position: number
  /** Silence between the end of the packet before and this one. */
  gap: number
}

const PER_MS = 48
/** Samples at 48 kHz for one at 16 kHz. */
const RATIO = 3
/** More than the variation of the network's delay. */
const MAX_DEVIATION = 1000 * PER_MS
/** A publisher that pauses sends nothing for at least this long. */
const MIN_PAUSE_MS = 500
/** Smaller deviations of the clocks are left alone. */
const MAX_DRIFT = 40 * PER_MS

/**
 * Maps RTP timestamps to positions in real time since the begin of the stream. Gaps in the timestamps (loss, DTX) are
 * silence of their length; where timestamps contradict the time of arrival (restart, pause without advancing timestamps),
 * the time of arrival decides. Positions never go back. Pure: times are parameters.
 */
export class Timeline {
  /** The end of the last packet, 48 kHz. */
  #end = 0
  /** The timestamp that follows the last packet. */
  #expected: number | undefined
  #lastAt = 0
  readonly #drift = new DriftEstimator()

  /** The end of the last packet. */
  get end(): number {
    return Math.round(this.#end / RATIO)
  }

  /** Undefined for a packet that is dropped, because the publisher's clock is too fast. */
  place(packet: Timed, arrival: Arrival): Placement | undefined {
    const gap = this.#gapBefore(packet, arrival)
    this.#expected = (packet.timestamp + packet.samples) >>> 0
    this.#lastAt = arrival.at
    const adjusted = gap + (arrival.canAdjust || gap > 0 ? this.#adjustment(gap) : 0)
    if (adjusted < 0) {
      this.#drift.moved(-packet.samples)
      return undefined
    }
    this.#drift.moved(adjusted - gap)
    const before = this.end
    const begin = this.#end + adjusted
    this.#end = begin + packet.samples
    if (arrival.isTimely) this.#drift.add(arrival.at * PER_MS - this.#end, arrival.at)
    const position = Math.round(begin / RATIO)
    return { position, gap: position - before }
  }

  #gapBefore({ timestamp, samples }: Timed, { at, isTimely, isRestart }: Arrival): number {
    const byArrival = Math.max(0, at * PER_MS - samples - this.#end)
    if (this.#expected === undefined) return byArrival
    const byTimestamp = timestampDistance(timestamp, this.#expected)
    // Positive: the packet arrives later than its timestamp says.
    const late = at * PER_MS - samples - this.#end - byTimestamp
    const isJump = isRestart === true || byTimestamp < 0 || late < -MAX_DEVIATION
    const isPause = isTimely && late > MAX_DEVIATION && at - this.#lastAt > MIN_PAUSE_MS
    if (!isJump && !isPause) return byTimestamp
    this.#drift.reset()
    return byArrival
  }

  /**
   * The samples to add before a packet, so that positions follow real time. Negative beyond the gap if the packet is to be
   * dropped.
   */
  #adjustment(gap: number): number {
    const { drift } = this.#drift
    if (Math.abs(drift) < MAX_DRIFT) return 0
    if (drift > 0 || gap === 0) return drift
    return Math.max(drift, -gap)
  }
}
