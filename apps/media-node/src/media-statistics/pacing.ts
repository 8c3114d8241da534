/** The most samples in a second, of which each is a request to a worker. A large node is sampled less often. */
const MOST_PER_SECOND = 100

/** How many of the waiting samples to take now, so that the last one is taken at the end of the interval. */
export function batchSize(waiting: number, remainingMs: number, tickMs: number): number {
  const ticks = Math.max(1, Math.floor(remainingMs / tickMs))
  return Math.min((MOST_PER_SECOND * tickMs) / 1_000, Math.ceil(waiting / ticks))
}
