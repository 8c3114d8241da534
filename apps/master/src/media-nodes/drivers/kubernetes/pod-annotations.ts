import type { NodeUse } from '../../driver/node-driver.js'
import type { KubernetesNode, Pod } from './kubernetes-objects.js'

/** Read by ReplicaSets: the pod with the lowest cost is removed first. */
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost'
/** Read by the media node, from a file of the pod. */
const ANNOUNCED_ADDRESS = 'session-service/announced-address'
/** Set by operators on machines whose external address Kubernetes does not know. */
const EXTERNAL_ADDRESS = 'session-service/external-address'

/** Below the cost of any serving node. */
const DRAINING = -1_000_000

/** Draining nodes are removed before serving ones, and emptier ones first. */
export const deletionCost = ({ held, isDraining }: Omit<NodeUse, 'id'>): number =>
  (isDraining ? DRAINING : 0) + Math.min(held, -DRAINING - 1)

/** The address by which clients reach the machine; undefined when only the machine itself could find it. */
export function externalAddress(node: KubernetesNode): string | undefined {
  const given = node.metadata.annotations[EXTERNAL_ADDRESS]?.trim()
  if (given) return given
  return node.status?.addresses?.find(({ type }) => type === 'ExternalIP')?.address
}

/** The annotations that the pod should have and has not; undefined values are left as they are. Pure. */
export function missingAnnotations(
  { metadata }: Pod,
  wanted: { cost: number | undefined; address: string | undefined },
): Record<string, string> {
  const values = {
    [DELETION_COST]: wanted.cost === undefined ? undefined : String(wanted.cost),
    [ANNOUNCED_ADDRESS]: wanted.address,
  }
  return Object.fromEntries(
    Object.entries(values).flatMap(([name, value]) =>
      value === undefined || metadata.annotations[name] === value ? [] : [[name, value]],
    ),
  )
}
