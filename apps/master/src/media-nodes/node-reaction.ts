import type { Heartbeat } from '@session-service/contract'
import { isLeaving } from './media-node-status.js'
import type { MediaNodeRow } from './media-node.repository.js'

const DEADLINE_TOLERANCE_MS = 1_000

/**
 * What a heartbeat makes of a node's row:
 * - `enter`: a node that is new, or a new process in place of one that was to go or has gone;
 * - `arrive`: the launch is over; `turnAway`: it is over, and the node is not wanted any more;
 * - `replace`: the process was started anew before anybody missed it, what the former one held is gone;
 * - `recover`: it is heard again after it was lost;
 * - `quarantine`: it says that it takes no new sessions; `note`: it says something else of itself than the row.
 */
export type NodeReaction = 'none' | 'enter' | 'arrive' | 'turnAway' | 'replace' | 'recover' | 'quarantine' | 'note'

type Seen = Pick<
  MediaNodeRow,
  'status' | 'bootId' | 'disconnectedAt' | 'drainDeadline' | 'ip' | 'uri' | 'version' | 'environmentId'
>

export function reactionTo(row: Seen | undefined, beat: Heartbeat): NodeReaction {
  if (!row) return beat.joins ? 'enter' : 'none'
  switch (row.status) {
    case 'launching':
      return 'arrive'
    case 'canceled':
      return 'turnAway'
    case 'failed':
      return 'none'
    case 'terminated':
      return row.bootId !== beat.bootId && beat.joins ? 'enter' : 'none'
    default:
      return ofOneThatIsUp(row, beat)
  }
}

function ofOneThatIsUp(row: Seen, beat: Heartbeat): NodeReaction {
  const isOther = row.bootId !== beat.bootId
  if (isOther && isLeaving(row.status)) return beat.joins ? 'enter' : 'none'
  if (row.disconnectedAt !== null) return row.status === 'terminating' ? 'none' : 'recover'
  if (isOther) return 'replace'
  if (row.status === 'running' && beat.status === 'draining') return 'quarantine'
  return saysSomethingElse(row, beat) ? 'note' : 'none'
}

/** Heartbeats give the deadline to some milliseconds, which differ from one to the next. */
const isAlike = (one: number | null, other: number | null): boolean =>
  one === null || other === null ? one === other : Math.abs(one - other) < DEADLINE_TOLERANCE_MS

function saysSomethingElse(row: Seen, { ip, uri, version, environmentId, drainDeadline }: Heartbeat): boolean {
  const isNewDeadline = row.status === 'waiting-idle-to-terminate' && !isAlike(row.drainDeadline, drainDeadline)
  // A name that an operator gave over REST stays when the node has none of its own.
  const isRenamed = environmentId !== '' && row.environmentId !== environmentId
  return row.ip !== ip || row.uri !== uri || row.version !== version || isRenamed || isNewDeadline
}
