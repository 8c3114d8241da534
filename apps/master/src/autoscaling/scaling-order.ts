import type { ScaledNode, ScalingAction } from './scaling.types.js'

/**
 * How this many nodes more are got: those that are on their way out first, then new ones. Of those that are emptying
 * the fullest is woken, since the others will be gone sooner.
 */
export function adding(nodes: readonly ScaledNode[], count: number): ScalingAction[] {
  const woken = nodes
    .filter(({ status, canWake }) => status === 'waiting-idle-to-terminate' && canWake)
    .toSorted((a, b) => b.load - a.load || a.launchingTime - b.launchingTime)
    .slice(0, count)
  const relaunched = nodes
    .filter(({ status }) => status === 'canceled')
    .toSorted((a, b) => a.launchingTime - b.launchingTime)
    .slice(0, count - woken.length)
  return [
    ...woken.map((node) => ({ kind: 'wake' as const, node })),
    ...relaunched.map((node) => ({ kind: 'relaunch' as const, node })),
    ...Array.from({ length: count - woken.length - relaunched.length }, () => ({ kind: 'launch' as const })),
  ]
}

/** Which nodes go when there shall be this many fewer: those that are not there yet first, then the least loaded. */
export function removing(nodes: readonly ScaledNode[], count: number): ScalingAction[] {
  const canceled = nodes
    .filter(({ status }) => status === 'launching')
    .toSorted((a, b) => b.launchingTime - a.launchingTime)
    .slice(0, count)
  const gone = nodes
    .filter(({ status }) => status === 'running')
    .toSorted((a, b) => Math.min(a.held, 1) - Math.min(b.held, 1) || a.load - b.load || a.held - b.held)
    .slice(0, count - canceled.length)
  return [
    ...canceled.map((node) => ({ kind: 'cancel' as const, node })),
    ...gone.map((node) => ({ kind: node.held === 0 ? ('terminate' as const) : ('drain' as const), node })),
  ]
}
