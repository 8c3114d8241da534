/** A seeded random generator: mulberry32. */
export class Random {
  #state: number

  constructor(seed: number) {
    this.#state = seed >>> 0
  }

  /** 0 ≤ x < 1. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let mixed = this.#state
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }

  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.next())) * Math.cos(2 * Math.PI * this.next())
  }

  /** `mean` is the mean of the values, `sigma` the standard deviation of their logarithm. */
  logNormal(mean: number, sigma: number): number {
    return mean * Math.exp(sigma * this.normal() - sigma ** 2 / 2)
  }

  poisson(mean: number): number {
    // For a large mean the normal distribution is a good approximation.
    if (mean > 50) return Math.max(0, Math.round(mean + Math.sqrt(mean) * this.normal()))
    let product = this.next()
    let count = 0
    for (const limit = Math.exp(-mean); product > limit; count++) product *= this.next()
    return count
  }
}
