import { type Heartbeat, HEARTBEAT_INTERVAL_MS } from '@session-service/contract'
import { isUp } from './media-node-status.js'
import type { MediaNodeRow } from './media-node.repository.js'
import type { NodeBoot } from './room-place.js'

const DEADLINE_TOLERANCE_MS = 1_000

/**
 * The change that a heartbeat causes in the row of its node:
 * - `register`: a new node, or a new process of a terminated one;
 * - `finishLaunch`: the launch has succeeded; `endCanceled`: it has succeeded after it was canceled;
 * - `foreign`: another process holds the id. A heartbeat alone never changes that: the process has to register first;
 * - `recover`: a lost node sends heartbeats again;
 * - `drain`: the node has started to drain by itself; `updateDetails`: its details differ from the row.
 */
export type NodeReaction =
  'none' | 'register' | 'finishLaunch' | 'endCanceled' | 'foreign' | 'recover' | 'drain' | 'updateDetails'

type NodeDetails = Pick<
  MediaNodeRow,
  'status' | 'bootId' | 'disconnectedAt' | 'drainDeadline' | 'ip' | 'uri' | 'version' | 'environmentId'
>

export function nextNodeState(row: NodeDetails | undefined, beat: Heartbeat): NodeReaction {
  if (!row) return beat.joins ? 'register' : 'none'
  switch (row.status) {
    case 'launching':
      return 'finishLaunch'
    case 'canceled':
      return 'endCanceled'
    case 'failed':
      return 'none'
    case 'terminated':
      return row.bootId !== beat.bootId && beat.joins ? 'register' : 'none'
    default:
      return nextStateOfUp(row, beat)
  }
}

function nextStateOfUp(row: NodeDetails, beat: Heartbeat): NodeReaction {
  if (isForeign(row, beat)) return 'foreign'
  if (row.disconnectedAt !== null) return row.status === 'terminating' ? 'none' : 'recover'
  if (row.status === 'running' && beat.status === 'draining') return 'drain'
  return hasNewDetails(row, beat) ? 'updateDetails' : 'none'
}

/** The deadline varies by some milliseconds between heartbeats. */
const isSameDeadline = (one: number | null, other: number | null): boolean =>
  one === null || other === null ? one === other : Math.abs(one - other) < DEADLINE_TOLERANCE_MS

/** Whether another process than the sender of the heartbeat holds the id of the node. */
export const isForeign = (
  row: Pick<MediaNodeRow, 'status' | 'bootId'> | undefined,
  { bootId }: Pick<Heartbeat, 'bootId'>,
): boolean => row !== undefined && isUp(row.status) && row.bootId !== null && row.bootId !== bootId

function hasNewDetails(row: NodeDetails, { ip, uri, version, environmentId, drainDeadline }: Heartbeat): boolean {
  const isNewDeadline = row.status === 'waiting-idle-to-terminate' && !isSameDeadline(row.drainDeadline, drainDeadline)
  // A node without an environment id keeps the one that was set by REST.
  const isRenamed = environmentId !== '' && row.environmentId !== environmentId
  return row.ip !== ip || row.uri !== uri || row.version !== version || isRenamed || isNewDeadline
}

/** A node whose heartbeats a master receives; `at`: the last one, UTC ms, and the interval that it announced, ms. */
export type LastHeartbeat = NodeBoot & { at: number; everyMs: number }

/** The row with the last heartbeat that this master has received: the statement that reads the row also writes it. */
export const withLastHeartbeat = <Row extends Pick<MediaNodeRow, 'bootId' | 'lastHeartbeatAt' | 'heartbeatInterval'>>(
  row: Row,
  last: LastHeartbeat | undefined,
): Row =>
  last !== undefined && last.bootId === row.bootId && last.at >= row.lastHeartbeatAt
    ? { ...row, lastHeartbeatAt: last.at, heartbeatInterval: last.everyMs }
    : row

/** A node that has had no rooms, recordings and commands for a while sends heartbeats less often. */
export const isResting = ({ everyMs }: Pick<Heartbeat, 'everyMs'>): boolean => everyMs > HEARTBEAT_INTERVAL_MS
