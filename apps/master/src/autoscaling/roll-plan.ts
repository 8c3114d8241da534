import type { MediaNodeStatus } from '@session-service/contract'

/** At most this share of the nodes drains for a roll at a time, at least one. */
const DRAINING_SHARE = 0.25

/** A media node as the decision about a roll sees it. */
export interface RolledNode {
  id: string
  status: MediaNodeStatus
  isConnected: boolean
  /** New nodes would be different. */
  isOutdated: boolean
  /** It was launched to replace an outdated one, and has not done so yet. */
  isSurge: boolean
  /** Sessions and recordings on it. */
  held: number
  load: number
  hasDrainDeadline: boolean
}

export type RollAction =
  /** One more node is launched. */
  | { kind: 'surge' }
  /** The additional node serves: an outdated one drains. Both may be the same one. */
  | { kind: 'replace'; surge: string; node: string }
  /** The additional node has nothing to replace, and becomes an ordinary one. */
  | { kind: 'keep'; surge: string }
  /** A draining node gets a deadline. */
  | { kind: 'bound'; node: string }

/**
 * The next step of replacing outdated nodes: launch one, wait until it serves, drain the emptiest outdated one. No node
 * drains before its replacement serves, so a template that does not work stops the roll. Pure.
 */
export function rollPlan(nodes: readonly RolledNode[], { mayLaunch }: { mayLaunch: boolean }): RollAction[] {
  const draining = nodes.filter(
    ({ status, isOutdated, isConnected }) => status === 'waiting-idle-to-terminate' && isOutdated && isConnected,
  )
  const bounds = draining
    .filter(({ hasDrainDeadline }) => !hasDrainDeadline)
    .map(({ id }): RollAction => ({ kind: 'bound', node: id }))
  return [...bounds, ...nextStep(nodes, draining.length, mayLaunch)]
}

function nextStep(nodes: readonly RolledNode[], draining: number, mayLaunch: boolean): RollAction[] {
  const serving = nodes.filter(({ status, isConnected }) => status === 'running' && isConnected)
  const isAtBound = draining >= Math.max(1, Math.ceil(serving.length * DRAINING_SHARE))
  const victim = emptiest(serving.filter(({ isOutdated, isSurge }) => isOutdated && !isSurge))
  const surges = nodes.filter(({ isSurge, status }) => isSurge && (status === 'launching' || status === 'running'))
  const ready = surges.find(({ status }) => status === 'running')
  if (ready) return afterSurge(ready, victim, isAtBound)
  return surges.length === 0 && victim && !isAtBound && mayLaunch ? [{ kind: 'surge' }] : []
}

function afterSurge(surge: RolledNode, victim: RolledNode | undefined, isAtBound: boolean): RollAction[] {
  // Lost, or nothing is left to be replaced.
  if (!surge.isConnected || (!victim && !surge.isOutdated)) return [{ kind: 'keep', surge: surge.id }]
  // The template has changed once more: the node is empty or nearly so.
  if (surge.isOutdated) return [{ kind: 'replace', surge: surge.id, node: surge.id }]
  return victim && !isAtBound ? [{ kind: 'replace', surge: surge.id, node: victim.id }] : []
}

const emptiest = (nodes: readonly RolledNode[]): RolledNode | undefined =>
  nodes.toSorted((a, b) => a.held - b.held || a.load - b.load)[0]
