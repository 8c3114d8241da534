import { COST, costOf, type MediaKind, type Units } from '@session-service/contract'

/** The rest of the CPU is reserved for forwarding, as with recordings. */
const CPU_SHARE = 0.75

/** The unit of the cost model for a filter of this kind of track. */
export const filterUnit = (kind: MediaKind): 'videoFilters' | 'audioFilters' =>
  kind === 'video' ? 'videoFilters' : 'audioFilters'

/**
 * Whether a node with this work can apply one more filter. It may apply one whatever else it does, so that small nodes
 * can do it too.
 */
export function canFilter(held: Units, kind: MediaKind, cores: number): boolean {
  const unit = filterUnit(kind)
  return !held[unit] || costOf(held) + COST[unit] <= cores * 100 * CPU_SHARE
}
