import type { MasterConfig } from '@session-service/config'

export type ClusterEnvironment = MasterConfig['SERVICE_PRO_CLUSTER_ENVIRONMENT']

/** A media node that shall be started: its row is there, with this id and the status `launching`. */
export interface NodeLaunch {
  /** The node's own id: the one it will have in its heartbeats. */
  id: string
  environmentId?: string | undefined
  /** Means something to clouds only. */
  instanceType?: string | undefined
  /** GB. */
  volumeSize?: number | undefined
}

export interface LaunchedNode {
  environmentId: string
  /** Where the driver learns of it: resolves with the reason when what was launched ends, whatever it did till then. */
  ended?: Promise<string>
}

/**
 * What starts and ends the machines or processes that media nodes are. Rows, statuses and events are not its business:
 * who calls it has written `launching` before `launch`, and has drained or terminated the node before `drop`.
 */
export interface NodeDriver {
  readonly environment: ClusterEnvironment
  /** False: the operator starts and ends nodes, `launch` is refused and `drop` does nothing. */
  readonly startsNodes: boolean
  /** All nodes are on one machine: the load that each of them tells is that of all. */
  readonly sharesMachine: boolean
  /**
   * Resolves once the node is under way, long before it is heard; again for the same id: no second one. Rejects with
   * NodeLaunchError, also when the signal ends it; what was begun is then gone.
   */
  launch(node: NodeLaunch, signal: AbortSignal): Promise<LaunchedNode>
  /** Resolves once the node is gone for sure; nothing to do when it is gone already, or never was. */
  drop(node: { id: string; environmentId?: string | undefined }): Promise<void>
}

/** For injection. */
export const NODE_DRIVER = Symbol('driver of media nodes')

export class NodeLaunchError extends Error {
  override readonly name = NodeLaunchError.name
}
