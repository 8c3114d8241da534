/** The most samples at a time, of which each is a request to a worker. A large node is sampled less often. */
const MAX_BATCH = 50

/** How many of the waiting samples to take now, so that the last one is taken at the end of the interval. */
export function batchSize(waiting: number, remainingMs: number, tickMs: number): number {
  const ticks = Math.max(1, Math.floor(remainingMs / tickMs))
  return Math.min(MAX_BATCH, Math.ceil(waiting / ticks))
}
