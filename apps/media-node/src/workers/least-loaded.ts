/** A room that was just opened has no consumers yet but will: a few participants see and hear each other. */
const CONSUMERS_EXPECTED_OF_A_ROOM = 8

export interface WorkerLoad {
  rooms: number
  consumers: number
}

const cost = ({ rooms, consumers }: WorkerLoad): number => consumers + rooms * CONSUMERS_EXPECTED_OF_A_ROOM

/** Forwarding costs by the consumer; the first of equals is taken. */
export const leastLoaded = <W extends WorkerLoad>(workers: Iterable<W>): W | undefined => {
  let best: W | undefined
  for (const worker of workers) if (!best || cost(worker) < cost(best)) best = worker
  return best
}
