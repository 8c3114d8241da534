import { leastLoaded, type WorkerLoad } from '../workers/least-loaded.js'

interface RouterLoad {
  /** Tracks that the router forwards, and those that it will forward to peers who have just joined. */
  load: number
}

type RouterChoice<R, W> = { join: R } | { open: W }

interface RouterRequest<R, W> {
  /** In the order in which they were opened; at least one. */
  routers: readonly R[]
  /** Living workers on which the room has no router yet. */
  otherWorkers: Iterable<W>
  /** Tracks that will be forwarded to the new peer. */
  expected: number
  /** The most tracks that a router forwards. */
  budget: number
}

/**
 * The router of a room for the next peer: the oldest one with capacity left, so that younger ones become empty when
 * peers leave; otherwise a new router; with a router on every worker, the least loaded one.
 */
export function chooseRouter<R extends RouterLoad, W extends WorkerLoad>(
  request: RouterRequest<R, W>,
): RouterChoice<R, W> {
  const { routers, otherWorkers, expected, budget } = request
  const withCapacity = routers.find(({ load }) => load === 0 || load + expected <= budget)
  if (withCapacity) return { join: withCapacity }
  const worker = leastLoaded(otherWorkers)
  if (worker) return { open: worker }
  return { join: routers.reduce((best, router) => (router.load < best.load ? router : best)) }
}
