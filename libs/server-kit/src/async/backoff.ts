export interface BackoffOptions {
  /** The delay after the first failure, ms. */
  firstMs: number
  /** No delay is longer, ms. */
  longestMs: number
  /** Each delay is this many times the one before; 2. */
  factor?: number
  /** Draws the delay from the upper half of its range, so that clients of one server do not retry together; true. */
  jitter?: boolean
}

/** The exponential back-off delay after `failures` failures in a row, ms. Pure, apart from the default of `random`. */
export function backoffMs(failures: number, options: BackoffOptions, random = Math.random()): number {
  const { firstMs, longestMs, factor = 2, jitter = true } = options
  const whole = Math.min(firstMs * factor ** Math.max(0, failures - 1), longestMs)
  return Math.round(jitter ? whole * (0.5 + random / 2) : whole)
}
