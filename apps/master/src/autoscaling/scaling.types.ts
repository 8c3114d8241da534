import type { MediaNodeStatus } from '@session-service/contract'

/** A media node as the decision sees it. */
export interface ScaledNode {
  id: string
  environmentId: string
  ip: string
  status: MediaNodeStatus
  /** Percent of its processors. */
  load: number
  /** Sessions and jobs it holds. */
  held: number
  /** UTC ms. */
  launchingTime: number
  /** False: it cannot be made to take sessions again, since its machine wants to go. */
  canWake: boolean
}

export interface Cluster {
  /** Ms of one clock throughout: monotonic for a plan, UTC for an event. */
  now: number
  /** Those that are gone or not heard are left out. */
  nodes: readonly ScaledNode[]
  /** Launches that were asked for and show in no node yet; 0. */
  inFlight?: number
}

export interface Limits {
  minNodes: number
  maxNodes: number
  /** Average load, percent. */
  minLoad: number
  maxLoad: number
  /** What has to hold for this long before a node is taken away, ms. */
  cooldownMs: number
  /** How long a node takes from its launch until it takes sessions, ms. */
  bootMs: number
}

export interface Sample {
  at: number
  totalLoad: number
}

/** What a decision knows of the past: of the one who decides, gone with it. */
export interface Memory {
  /** Oldest first. */
  samples: readonly Sample[]
  /** Ids of those that were running at the last look. */
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

/** The cluster in figures, as the event shows them. */
export interface ClusterLoad {
  /** Running and launching. */
  numNodes: number
  totalLoad: number
  /** Percent; 0 without nodes. */
  avgLoad: number
}

export interface Plan {
  /** Empty: nothing is to be done. */
  actions: readonly ScalingAction[]
  /** A sentence for people. */
  reason: string
  load: ClusterLoad
  /** For the next decision. */
  memory: Memory
}
