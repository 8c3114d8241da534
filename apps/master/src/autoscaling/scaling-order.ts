import type { ScaledNode, ScalingAction } from './scaling.types.js'

/**
 * The actions that add this many nodes: wakes draining nodes first, then relaunches canceled ones, then launches new
 * ones. Wakes the draining node with the highest load first, since the others end sooner.
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

/** The actions that remove this many nodes: cancels launching nodes first, then drains the outdated and least loaded ones. */
export function removing(nodes: readonly ScaledNode[], count: number): ScalingAction[] {
  const canceled = nodes
    .filter(({ status }) => status === 'launching')
    .toSorted((a, b) => b.launchingTime - a.launchingTime)
    .slice(0, count)
  const removed = nodes
    .filter(({ status }) => status === 'running')
    .toSorted(
      (a, b) => ageOf(a) - ageOf(b) || Math.min(a.held, 1) - Math.min(b.held, 1) || a.load - b.load || a.held - b.held,
    )
    .slice(0, count - canceled.length)
  return [
    ...canceled.map((node) => ({ kind: 'cancel' as const, node })),
    ...removed.map((node) => ({ kind: node.held === 0 ? ('terminate' as const) : ('drain' as const), node })),
  ]
}

const ageOf = ({ isOutdated = false }: ScaledNode): number => (isOutdated ? 0 : 1)
