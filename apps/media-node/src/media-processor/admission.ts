import { COST, costOf, type Units } from '@session-service/contract'

/** The rest of the CPU is reserved for forwarding: sessions must never wait for a recording, filter or transcoding. */
export const CPU_SHARE = 0.75

/**
 * Whether a node with this work can take one more of a kind that a media processor runs. It may take one whatever else
 * it does, so that small nodes can do it too.
 */
export const canProcess = (
  held: Units,
  unit: 'videoFilters' | 'audioFilters' | 'transcodings',
  cores: number,
): boolean => !held[unit] || costOf(held) + COST[unit] <= cores * 100 * CPU_SHARE
