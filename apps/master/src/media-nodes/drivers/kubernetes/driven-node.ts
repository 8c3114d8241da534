import type { DrivenNode } from '../../driver/node-driver.js'
import { nodeIdOf, TEMPLATE_HASH } from './pod-manifest.js'
import { podState } from './pod-state.js'
import type { WatchedPod } from './pod-watch.js'

/** A pod that is still there this long after its grace period is removed without its machine, which does not answer, ms. */
const STUCK_MS = 60_000
/** A drain, and the finish of its recordings, end this much before the grace period of the pod, s. */
const END_MARGIN_SECONDS = 30
const FINISH_TIMEOUT = 'MEDIA_NODE_RECORDING_FINISH_TIMEOUT'

/** The grace period of the pod without the time in which its node finishes its recordings after the drain. */
function drainSeconds({ spec }: WatchedPod['pod']): number {
  const env = spec.containers.flatMap((container) => container.env ?? [])
  const finishSeconds = Number(env.find(({ name }) => name === FINISH_TIMEOUT)?.value) || 0
  return Math.max(0, (spec.terminationGracePeriodSeconds ?? 30) - finishSeconds - END_MARGIN_SECONDS)
}

/** Whether the machine of a pod does not end it. `now` by `performance.now()`. Pure. */
export function isStuck({ pod, isDeleted, deletingSince }: WatchedPod, now: number): boolean {
  if (isDeleted || deletingSince === undefined) return false
  return now - deletingSince > (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1_000 + STUCK_MS
}

/** A pod as the media node that it is. Pure. */
export function drivenNode(watched: WatchedPod, currentHash: string | undefined, now: number): DrivenNode {
  const { pod, isDeleted } = watched
  const { annotations, creationTimestamp } = pod.metadata
  return {
    id: nodeIdOf(pod),
    name: pod.metadata.name,
    ...(pod.spec.nodeName && { machine: pod.spec.nodeName }),
    ...podState(pod, isDeleted),
    isGone: isDeleted,
    isStuck: isStuck(watched, now),
    isOutdated: currentHash !== undefined && annotations[TEMPLATE_HASH] !== currentHash,
    createdAt: creationTimestamp ? Date.parse(creationTimestamp) : 0,
    drainMs: drainSeconds(pod) * 1_000,
  }
}
