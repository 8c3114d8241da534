import type { MasterConfig } from '@session-service/config'

type ClusterEnvironment = MasterConfig['SERVICE_PRO_CLUSTER_ENVIRONMENT']

/** A media node to be started. Its row exists, with the status `launching`. */
export interface NodeLaunch {
  /** The id of the node, also in its heartbeats. */
  id: string
  environmentId?: string | undefined
  /** Used by cloud drivers only. */
  instanceType?: string | undefined
  /** GB. */
  volumeSize?: number | undefined
  /** It is started in addition to the others, to replace an outdated one. */
  isSurge?: boolean
}

export interface LaunchedNode {
  environmentId: string
  /** Resolves with the reason when the launched process or machine ends; absent when the driver cannot detect it. */
  ended?: Promise<string>
}

/** A media node in its environment, as the driver sees it. */
export interface DrivenNode {
  id: string
  /** The name of the machine or pod, for logs. */
  name: string
  /** The machine that it runs on, if that is known: nodes of one machine report the same load. */
  machine?: string
  /** `failed`: it will not start or go on by itself; `ending`: its end is ordered; `ended`: by itself, or it was removed. */
  state: 'starting' | 'up' | 'failed' | 'ending' | 'ended'
  /** For operators; absent when there is nothing unusual. */
  reason?: string
  /** Nothing of it is left to be dropped. */
  isGone: boolean
  /** Its end is long overdue, since its machine does not answer. */
  isStuck: boolean
  /** New nodes would be different. */
  isOutdated: boolean
  /** UTC ms by the clock of the environment. */
  createdAt: number
  /** Longest drain that the environment allows, ms. */
  drainMs: number
}

/** The use of a media node. */
export interface NodeUse {
  id: string
  /** Sessions and recordings on it. */
  held: number
  isDraining: boolean
}

/**
 * Starts and stops the machines or processes of media nodes. Its caller manages rows, statuses and events: it writes
 * `launching` before `launch`, and drains or terminates the node before `drop`.
 */
export interface NodeDriver {
  readonly environment: ClusterEnvironment
  /** False: the operator starts and stops nodes; `launch` rejects and `drop` does nothing. */
  readonly startsNodes: boolean
  /** All nodes run on one machine: each of them reports the load of all. */
  readonly sharesMachine: boolean
  /**
   * Resolves once the node is starting, long before its first heartbeat. Idempotent by id. Rejects with NodeLaunchError,
   * or when `signal` aborts it; nothing is left running then.
   */
  launch(node: NodeLaunch, signal: AbortSignal): Promise<LaunchedNode>
  /**
   * Resolves when the node has ended, or when its environment is certain to end it within seconds. Idempotent; does
   * nothing for a node that does not run.
   */
  drop(node: { id: string; environmentId?: string | undefined }): Promise<void>
  /** All nodes that the driver has started, also recently ended ones. Rejects while the environment cannot be read. */
  nodes?(): Promise<readonly DrivenNode[]>
  /** Passes the use of the nodes to the environment. */
  annotate?(uses: readonly NodeUse[]): Promise<void>
}

/** Injection token. */
export const NODE_DRIVER = Symbol('NodeDriver')

export class NodeLaunchError extends Error {
  override readonly name = NodeLaunchError.name
}
