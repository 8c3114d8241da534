import type { Pod } from '../control-plane/objects.js'
import { clusterAddress } from '../addresses/addresses.js'
import type { ContainerStatus } from './container-runner.js'
import type { PodPlace } from './fields.js'

export interface PodFacts {
  startTime: string
  /** Undefined before its volumes are prepared. */
  place: PodPlace | undefined
  isInitialized: boolean
  init: readonly ContainerStatus[]
  containers: readonly ContainerStatus[]
  /** A reason of the kubelet to end the pod, such as Evicted. */
  failure?: { reason: string; message: string } | undefined
}

type Phase = 'Pending' | 'Running' | 'Succeeded' | 'Failed'
const OWN_CONDITIONS = ['Initialized', 'ContainersReady', 'Ready', 'PodReadyToStartContainers']

/** The phase that follows from the containers; they are all over only when none starts again. */
export function phaseOf({ isInitialized, init, containers, failure }: PodFacts, isOver: boolean): Phase {
  if (failure) return 'Failed'
  const isFailed = [...init, ...containers].some(
    ({ state }) => 'terminated' in state && state.terminated.exitCode !== 0,
  )
  if (isOver) return isFailed || !isInitialized ? 'Failed' : 'Succeeded'
  const hasRun = containers.some(({ state, restartCount }) => !('waiting' in state) || restartCount > 0)
  return isInitialized && hasRun ? 'Running' : 'Pending'
}

/** The status that the kubelet writes. Conditions of others, such as that of an eviction, remain. */
export function podStatus(pod: Pod, facts: PodFacts, isOver: boolean): Record<string, unknown> {
  const { place, isInitialized, init, containers, failure } = facts
  const phase = phaseOf(facts, isOver)
  const isReady = phase === 'Running' && containers.every(({ ready }) => ready)
  const podIP = place && clusterAddress(place.podIP)
  const condition = (type: string, holds: boolean): object => ({ type, status: holds ? 'True' : 'False' })
  return {
    phase,
    startTime: facts.startTime,
    ...(failure && { reason: failure.reason, message: failure.message }),
    ...(place && { hostIP: place.hostIP, hostIPs: [{ ip: place.hostIP }], podIP, podIPs: [{ ip: podIP }] }),
    conditions: [
      ...pod.status.conditions.filter(({ type }) => !OWN_CONDITIONS.includes(type)),
      condition('PodReadyToStartContainers', place !== undefined),
      condition('Initialized', isInitialized),
      condition('ContainersReady', isReady),
      condition('Ready', isReady),
    ],
    initContainerStatuses: init,
    containerStatuses: containers,
  }
}
