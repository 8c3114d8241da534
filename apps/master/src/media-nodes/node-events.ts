import type { MediaNodeStatus, PlacementBackOff } from '@session-service/contract'
import type { EventDraft } from '../events/event-drafts.js'
import { isBackedOff } from './flapping.js'
import type { MediaNodeRow } from './media-node.repository.js'

type NodeIdentity = Pick<MediaNodeRow, 'id' | 'environmentId' | 'ip' | 'uri'>

const common = ({ id, environmentId, ip, uri }: NodeIdentity, clusterId: string, timestamp: number) => ({
  timestamp,
  id,
  environmentId,
  ip,
  uri,
  clusterId,
})

/** `backOff`, while placement on the node is backed off after repeated crashes. */
export const backOffOf = (
  { crashCount, backOffUntil }: Pick<MediaNodeRow, 'crashCount' | 'backOffUntil'>,
  now: number,
): { backOff?: PlacementBackOff } =>
  isBackedOff(backOffUntil, now) ? { backOff: { crashes: crashCount, until: backOffUntil } } : {}

export const mediaNodeStatusChanged = (
  node: NodeIdentity & Pick<MediaNodeRow, 'status' | 'crashCount' | 'backOffUntil' | 'statusReason'>,
  oldStatus: MediaNodeStatus | null,
  clusterId: string,
  now: number,
): EventDraft => ({
  name: 'mediaNodeStatusChanged',
  payload: {
    ...common(node, clusterId, now),
    oldStatus,
    newStatus: node.status,
    ...(node.statusReason !== null && { statusReason: node.statusReason }),
    ...backOffOf(node, now),
  },
})

export const nodeCrashed = (
  node: NodeIdentity,
  held: { sessionIds: string[]; recordingIds: string[] },
  clusterId: string,
  now: number,
): EventDraft => ({
  name: 'nodeCrashed',
  payload: {
    ...common(node, clusterId, now),
    nodeRole: 'medianode',
    ...held,
    broadcasts: [],
    timeOfDisconnection: now,
  },
})

export const nodeRecovered = (
  node: NodeIdentity,
  timeOfDisconnection: number,
  clusterId: string,
  now: number,
): EventDraft => ({
  name: 'nodeRecovered',
  payload: { ...common(node, clusterId, now), nodeRole: 'medianode', timeOfDisconnection },
})
