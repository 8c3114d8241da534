import { COST, costOf, type Units } from '@session-service/contract'

/** The rest of the CPU is reserved for forwarding, as with recordings. */
const CPU_SHARE = 0.75

/**
 * Whether a node with this work can transcode one more video. It may transcode one whatever else it does, so that small
 * nodes can do it too.
 */
export const canTranscode = (held: Units, cores: number): boolean =>
  !held.transcodings || costOf(held) + COST.transcodings <= cores * 100 * CPU_SHARE
