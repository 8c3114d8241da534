import type { MasterConfig } from '@session-service/config'

export type ClusterEnvironment = MasterConfig['SERVICE_PRO_CLUSTER_ENVIRONMENT']

/** A media node to be started. Its row exists, with the status `launching`. */
export interface NodeLaunch {
  /** The id of the node, also in its heartbeats. */
  id: string
  environmentId?: string | undefined
  /** Used by cloud drivers only. */
  instanceType?: string | undefined
  /** GB. */
  volumeSize?: number | undefined
}

export interface LaunchedNode {
  environmentId: string
  /** Resolves with the reason when the launched process or machine ends; absent when the driver cannot detect it. */
  ended?: Promise<string>
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
  /** Resolves when the node has ended. Idempotent; does nothing for a node that does not run. */
  drop(node: { id: string; environmentId?: string | undefined }): Promise<void>
}

/** Injection token. */
export const NODE_DRIVER = Symbol('NodeDriver')

export class NodeLaunchError extends Error {
  override readonly name = NodeLaunchError.name
}
