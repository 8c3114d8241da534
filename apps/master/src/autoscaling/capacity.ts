import { MediaNodeStatus } from '@session-service/contract'
import { usedCapacity } from '@session-service/messaging'
import type { MediaNodeRow } from '../media-nodes/media-node.repository.js'
import type { FleetNode } from '../media-nodes/node-fleet.service.js'

export const COUNTED_STATUSES = [...MediaNodeStatus.options, 'lost'] as const

/** A lost node keeps the status `running` until it returns or is given up, but carries no session. Pure. */
export const countedStatus = ({
  status,
  disconnectedAt,
}: Pick<MediaNodeRow, 'status' | 'disconnectedAt'>): (typeof COUNTED_STATUSES)[number] =>
  status === 'running' && disconnectedAt !== null ? 'lost' : status

interface ClusterCapacity {
  /** Average of the used share of the nodes that take sessions now or soon; 0 without nodes. */
  usedRatio: number
  /** Nodes that carry the present use with each of them at the limit. */
  needed: number
}

/** Draining nodes count neither as capacity nor as use: their sessions end or move. Pure. */
export function clusterCapacity(nodes: readonly Pick<FleetNode, 'row' | 'beat'>[], limit: number): ClusterCapacity {
  const serving = nodes.filter(({ row, beat }) => row.status === 'running' && beat?.status === 'running')
  const launching = nodes.filter(({ row }) => row.status === 'launching').length
  const used = serving.reduce((sum, { beat }) => sum + (beat ? usedCapacity(beat) : 0), 0)
  const count = serving.length + launching
  return {
    usedRatio: count === 0 ? 0 : used / count,
    // With a limit of 0, any use needs one node more than there is.
    needed: limit > 0 ? Math.ceil(used / limit) : used > 0 ? serving.length + 1 : 0,
  }
}
