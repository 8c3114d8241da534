import type { MediaNodeStatus } from '@session-service/contract'

/** The input of a decision about a media node. */
export interface ScaledNode {
  id: string
  environmentId: string
  ip: string
  status: MediaNodeStatus
  /** Percent of its CPU. */
  load: number
  /** Sessions and jobs on the node. */
  held: number
  /** UTC ms. */
  launchingTime: number
  /** False: a draining node that cannot accept sessions again, since its machine shuts down. */
  canWake: boolean
  /** New nodes would be different: it is removed before others. Default: false. */
  isOutdated?: boolean
}

export interface Cluster {
  /** Monotonic ms for a plan, UTC ms for an event. */
  now: number
  /** Without nodes that have ended or send no heartbeats. */
  nodes: readonly ScaledNode[]
  /** Requested launches without a row yet; default 0. */
  inFlight?: number
}

export interface Limits {
  minNodes: number
  maxNodes: number
  /** Average load, percent. */
  minLoad: number
  maxLoad: number
  /** Low load must last this long before a node is removed, ms. */
  cooldownMs: number
  /** Time from the launch of a node until it accepts sessions, ms. */
  bootMs: number
}

export interface Sample {
  at: number
  totalLoad: number
}

/** State between decisions. A new leader starts without it. */
export interface Memory {
  /** Oldest first. */
  samples: readonly Sample[]
  /** Ids of the nodes that were running at the last decision. */
  running: ReadonlySet<string>
  addedAt: number | undefined
  removedAt: number | undefined
}

export const NO_MEMORY: Memory = {
  samples: [],
  running: new Set(),
  addedAt: undefined,
  removedAt: undefined,
}

export type ScalingAction =
  /** waiting-idle-to-terminate → running. */
  | { kind: 'wake'; node: ScaledNode }
  /** canceled → launching. */
  | { kind: 'relaunch'; node: ScaledNode }
  | { kind: 'launch' }
  /** launching → canceled. */
  | { kind: 'cancel'; node: ScaledNode }
  /** running → waiting-idle-to-terminate. */
  | { kind: 'drain'; node: ScaledNode }
  /** running → terminating; it is empty. */
  | { kind: 'terminate'; node: ScaledNode }

/** Figures of the cluster for the event. */
export interface ClusterLoad {
  /** Running and launching nodes. */
  numNodes: number
  totalLoad: number
  /** Percent; 0 without nodes. */
  avgLoad: number
}

export interface Plan {
  /** Empty when no change is needed. */
  actions: readonly ScalingAction[]
  /** Shown to operators. */
  reason: string
  load: ClusterLoad
  /** For the next decision. */
  memory: Memory
}
