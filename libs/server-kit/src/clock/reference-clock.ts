/** The number of stored samples; the one with the shortest round trip is the most precise. */
const SAMPLES = 16
/** Older samples are dropped: clocks drift apart. */
const SAMPLE_AGE_MS = 30_000
/** Maximum drift between two monotonic clocks, ms per ms. */
const DRIFT = 0.0005
/** Resolution of the clocks. */
const RESOLUTION_MS = 2

/** One reading of the reference: `askedAt` and `answeredAt` are monotonic ms, `referenceAt` is UTC ms. */
export interface ClockSample {
  askedAt: number
  answeredAt: number
  referenceAt: number
}

interface Estimate {
  at: number
  offset: number
  errorMs: number
}

/**
 * UTC ms of a reference clock: the monotonic clock of this process plus the measured offset. A step of this machine's
 * wall clock changes nothing. Until the first sample the reference is the wall clock as it was when the process started.
 */
export class ReferenceClock {
  #samples: Estimate[] = []
  #offset: number

  constructor(
    readonly monotonic: () => number = () => performance.now(),
    origin: number = performance.timeOrigin,
  ) {
    this.#offset = origin
  }

  get isSynchronized(): boolean {
    return this.#samples.length > 0
  }

  now(): number {
    return this.at(this.monotonic())
  }

  /** A copy that takes no samples: points in time that are compared with each other need one uncorrected clock. */
  uncorrected(): ReferenceClock {
    return new ReferenceClock(this.monotonic, this.#offset)
  }

  /** The UTC time of a monotonic time. */
  at(monotonicMs: number): number {
    return Math.round(monotonicMs + this.#offset)
  }

  /**
   * Takes a sample. The error of a sample is at most half of its round trip, so one that contradicts the best sample
   * proves that the reference has stepped: all older samples are dropped. Returns by how many ms it stepped, else 0.
   */
  note({ askedAt, answeredAt, referenceAt }: ClockSample): number {
    const sample = {
      at: answeredAt,
      offset: referenceAt - (askedAt + answeredAt) / 2,
      errorMs: (answeredAt - askedAt) / 2 + RESOLUTION_MS,
    }
    const best = bestOf(this.#samples)
    const isStep = best !== undefined && !agree(best, sample)
    const young = isStep ? [] : this.#samples.filter(({ at }) => sample.at - at <= SAMPLE_AGE_MS)
    this.#samples = [...young, sample].slice(-SAMPLES)
    this.#offset = (bestOf(this.#samples) ?? sample).offset
    return isStep ? sample.offset - best.offset : 0
  }
}

/** The sample with the shortest round trip; the latest of equals. */
const bestOf = (samples: readonly Estimate[]): Estimate | undefined =>
  samples.reduce<Estimate | undefined>(
    (best, sample) => (best === undefined || sample.errorMs <= best.errorMs ? sample : best),
    undefined,
  )

const agree = (one: Estimate, other: Estimate): boolean =>
  Math.abs(one.offset - other.offset) <= one.errorMs + other.errorMs + Math.abs(one.at - other.at) * DRIFT

/** The time of the service in this process. A master measures it against the database's clock. */
export const serviceClock = new ReferenceClock()
