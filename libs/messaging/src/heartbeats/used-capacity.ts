import type { Heartbeat } from '@session-service/contract'
import type { z } from 'zod'

type Use = Pick<z.input<typeof Heartbeat>, 'cpuLoad' | 'committed' | 'workers' | 'slots'>

/**
 * The share of a media node that is in use, by its scarcest resource: processors, measured or committed to its sessions,
 * and slots for recordings. 1 is full; the committed cost can exceed it. Loaded language models do not count: each serves
 * any number of streams, whose cost is committed.
 */
export function usedCapacity({ cpuLoad, committed = 0, workers, slots }: Use): number {
  const { used, total } = slots?.recording ?? { used: 0, total: 0 }
  return Math.max(cpuLoad / 100, committed / (100 * Math.max(workers, 1)), total > 0 ? used / total : 0)
}
