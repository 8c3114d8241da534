import type { Heartbeat } from '@session-service/contract'
import { isUp } from './media-node-status.js'
import type { MediaNodeRow } from './media-node.repository.js'

const DEADLINE_TOLERANCE_MS = 1_000

/**
 * What a heartbeat makes of a node's row:
 * - `enter`: a node that is new, or a new process in place of one that has gone;
 * - `arrive`: the launch is over; `rollbackJoin`: it is over, and the node is not wanted any more;
 * - `foreign`: another process holds the id. A heartbeat alone never changes that: the process has to register first;
 * - `recover`: it is heard again after it was lost;
 * - `quarantine`: it says that it takes no new sessions; `note`: it says something else of itself than the row.
 */
export type NodeReaction = 'none' | 'enter' | 'arrive' | 'rollbackJoin' | 'foreign' | 'recover' | 'quarantine' | 'note'

type Seen = Pick<
  MediaNodeRow,
  'status' | 'bootId' | 'disconnectedAt' | 'drainDeadline' | 'ip' | 'uri' | 'version' | 'environmentId'
>

export function nextNodeState(row: Seen | undefined, beat: Heartbeat): NodeReaction {
  if (!row) return beat.joins ? 'enter' : 'none'
  switch (row.status) {
    case 'launching':
      return 'arrive'
    case 'canceled':
      return 'rollbackJoin'
    case 'failed':
      return 'none'
    case 'terminated':
      return row.bootId !== beat.bootId && beat.joins ? 'enter' : 'none'
    default:
      return ofOneThatIsUp(row, beat)
  }
}

function ofOneThatIsUp(row: Seen, beat: Heartbeat): NodeReaction {
  if (isForeign(row, beat)) return 'foreign'
  if (row.disconnectedAt !== null) return row.status === 'terminating' ? 'none' : 'recover'
  if (row.status === 'running' && beat.status === 'draining') return 'quarantine'
  return saysSomethingElse(row, beat) ? 'note' : 'none'
}

/** Heartbeats give the deadline to some milliseconds, which differ from one to the next. */
const isAlike = (one: number | null, other: number | null): boolean =>
  one === null || other === null ? one === other : Math.abs(one - other) < DEADLINE_TOLERANCE_MS

/** Whether the row says that another process than the one of the heartbeat holds the id of the node. */
export const isForeign = (
  row: Pick<MediaNodeRow, 'status' | 'bootId'> | undefined,
  { bootId }: Pick<Heartbeat, 'bootId'>,
): boolean => row !== undefined && isUp(row.status) && row.bootId !== null && row.bootId !== bootId

function saysSomethingElse(row: Seen, { ip, uri, version, environmentId, drainDeadline }: Heartbeat): boolean {
  const isNewDeadline = row.status === 'waiting-idle-to-terminate' && !isAlike(row.drainDeadline, drainDeadline)
  // A name that an operator gave over REST stays when the node has none of its own.
  const isRenamed = environmentId !== '' && row.environmentId !== environmentId
  return row.ip !== ip || row.uri !== uri || row.version !== version || isRenamed || isNewDeadline
}
