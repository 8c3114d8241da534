import type { NodeCommand } from './node.js'

/** Every subject of one cluster, relative to its prefix (`busScope`), and the queue groups. */
export const SUBJECT = {
  nodeCommand: (nodeId: string, command: NodeCommand): string => `node.${nodeId}.${command}`,
  /** Of one process of a node: a command goes to the node's id, this only to that start of it. */
  nodeBoot: (nodeId: string, bootId: string): string => `node.${nodeId}.boot.${bootId}`,
  heartbeat: (nodeId: string): string => `heartbeat.${nodeId}`,
  allHeartbeats: 'heartbeat.*',
  fact: (nodeId: string): string => `fact.${nodeId}`,
  allFacts: 'fact.*',
  /** Of one master. */
  masterHealth: (masterId: string): string => `master.${masterId}.health`,
  /** To every master. */
  restart: 'masters.restart',
  /** To every master: a session was placed there. */
  placed: (nodeId: string): string => `placed.${nodeId}`,
  allPlaced: 'placed.*',
  /** Fan-out to the masters that hold sockets of a session. */
  session: (roomId: string): string => `session.${roomId}`,
  roomEvent: (roomId: string): string => `nodeEvent.${roomId}`,
} as const

export const QUEUE = { masters: 'masters' } as const

/** Cluster of a process without `SERVICE_BUS_CLUSTER`. */
export const DEFAULT_BUS_CLUSTER = 'default'

/** What a process may do on the bus depends on this, where the bus has authorization. */
export type BusRole = 'master' | 'node'

export interface BusScope {
  /** Starts every subject of the cluster, so that clusters on one bus server do not interfere. */
  prefix: string
  /** Starts the subjects of all replies. */
  inboxes: string
  /** Starts the subjects of replies to requests of this role. */
  inbox: string
}

export const busScope = (cluster: string, role: BusRole): BusScope => {
  const prefix = `service.${cluster}.`
  return { prefix, inboxes: `${prefix}inbox.`, inbox: `${prefix}inbox.${role}` }
}
