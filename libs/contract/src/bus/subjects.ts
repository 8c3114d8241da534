import type { NodeCommand } from './node.js'

/** All subjects of a cluster, relative to its prefix (`busScope`), and the queue groups. */
export const SUBJECT = {
  nodeCommand: (nodeId: string, command: NodeCommand): string => `node.${nodeId}.${command}`,
  /** Addresses one process of a node, while commands address the node's id. */
  nodeBoot: (nodeId: string, bootId: string): string => `node.${nodeId}.boot.${bootId}`,
  heartbeat: (nodeId: string): string => `heartbeat.${nodeId}`,
  allHeartbeats: 'heartbeat.*',
  fact: (nodeId: string): string => `fact.${nodeId}`,
  allFacts: 'fact.*',
  /** Repeats a report to all masters: a queue group can choose a master that does not answer again and again. */
  repeatedFact: (nodeId: string): string => `repeatedFact.${nodeId}`,
  allRepeatedFacts: 'repeatedFact.*',
  /** Addresses one master. */
  masterHealth: (masterId: string): string => `master.${masterId}.health`,
  /** The leader reports to a master that it counts as dead. */
  masterDead: (masterId: string): string => `master.${masterId}.dead`,
  /** Addresses all masters. */
  restart: 'masters.restart',
  /**
   * The bus server reports that a client of the cluster has disconnected: NATS advisories, which the account of the
   * cluster imports from the system account. Without this import no message arrives.
   */
  disconnected: 'disconnected',
  /** Reports to all masters that a session was placed on the node. */
  placed: (nodeId: string): string => `placed.${nodeId}`,
  allPlaced: 'placed.*',
  /** Fan-out to the masters that hold sockets of a session. */
  session: (roomId: string): string => `session.${roomId}`,
  roomEvent: (roomId: string): string => `nodeEvent.${roomId}`,
} as const

export const QUEUE = { masters: 'masters' } as const

/** The cluster of a process without `SERVICE_BUS_CLUSTER`. */
export const DEFAULT_BUS_CLUSTER = 'default'

/** Determines the permissions of a process on a bus with authorization. */
export type BusRole = 'master' | 'node'

export interface BusScope {
  /** Prefixes all subjects of the cluster, so that clusters on one bus server do not interfere. */
  prefix: string
  /** Prefixes the subjects of all replies. */
  inboxes: string
  /** Prefixes the subjects of replies to requests of this role. */
  inbox: string
}

export const busScope = (cluster: string, role: BusRole): BusScope => {
  const prefix = `service.${cluster}.`
  return { prefix, inboxes: `${prefix}inbox.`, inbox: `${prefix}inbox.${role}` }
}

/** The account of the users of a cluster on a bus server with authorization. */
export const busAccount = (cluster: string): string => `service-${cluster}`

/** The subject of the system account on which NATS reports ended connections of the account of a cluster. */
export const disconnectAdvisory = (cluster: string): string => `$SYS.ACCOUNT.${busAccount(cluster)}.DISCONNECT`
