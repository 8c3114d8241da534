/** A new room has no consumers yet; a typical small session will have this number. */
const EXPECTED_CONSUMERS_PER_ROOM = 8

export interface WorkerLoad {
  rooms: number
  consumers: number
}

const cost = ({ rooms, consumers }: WorkerLoad): number => consumers + rooms * EXPECTED_CONSUMERS_PER_ROOM

/** The load is proportional to the number of consumers; the first of equally loaded workers wins. */
export const leastLoaded = <W extends WorkerLoad>(workers: Iterable<W>): W | undefined => {
  let best: W | undefined
  for (const worker of workers) if (!best || cost(worker) < cost(best)) best = worker
  return best
}
