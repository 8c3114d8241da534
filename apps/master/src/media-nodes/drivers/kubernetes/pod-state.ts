import type { DrivenNode } from '../../driver/node-driver.js'
import type { Condition, ContainerStatus, Pod } from './kubernetes-objects.js'

type PodState = Pick<DrivenNode, 'state' | 'reason'>

/** Reasons for which a container waits and will not start by itself soon, with the words that operators read. */
const FAILURES: Readonly<Record<string, string>> = {
  ErrImageNeverPull: 'its image is not on the machine and may not be pulled',
  InvalidImageName: 'the name of its image is invalid',
  ImagePullBackOff: 'its image cannot be pulled',
  CreateContainerConfigError: 'its configuration is incomplete',
  CreateContainerError: 'its container cannot be created',
  RunContainerError: 'its container cannot be started',
  CrashLoopBackOff: 'it crashes again and again',
}

/** Reasons for which Kubernetes ends a pod, with the words that operators read. */
const DISRUPTIONS: Readonly<Record<string, string>> = {
  EvictionByEvictionAPI: 'the pod is evicted',
  PreemptionByScheduler: 'the pod is preempted by one of a higher priority',
  DeletionByTaintManager: 'the machine has a taint that the pod does not tolerate',
  DeletionByPodGC: 'the machine of the pod is gone',
  TerminationByKubelet: 'the machine ends the pod',
}

/** Reasons for which a machine ends or refuses a pod. */
const POD_FAILURES: Readonly<Record<string, string>> = {
  Evicted: 'the machine evicted the pod',
  NodeShutdown: 'the machine shuts down',
  Terminated: 'the machine shuts down',
  NodeLost: 'the machine of the pod does not answer',
  Preempting: 'the machine ended the pod for one of a higher priority',
}

/** The state of a media node by its pod. Pure. */
export function podState(pod: Pod, isDeleted = false): PodState {
  const { phase } = pod.status
  if (isDeleted) return { state: 'ended', reason: deletion(pod) ?? 'the pod was deleted' }
  if (phase === 'Failed') return { state: 'failed', reason: failureOf(pod) }
  if (phase === 'Succeeded') return { state: 'ended', reason: 'the media node has ended' }
  if (pod.metadata.deletionTimestamp) return { state: 'ending', reason: deletion(pod) ?? 'the pod is being deleted' }
  const waiting = failedContainer(pod)
  if (waiting !== undefined) return { state: 'failed', reason: waiting }
  return stateOfAlive(pod)
}

function stateOfAlive(pod: Pod): PodState {
  const ready = condition(pod, 'Ready')
  if (ready?.status === 'True') return { state: 'up' }
  if (ready?.status === 'Unknown' || ready?.reason === 'NodeStatusUnknown')
    return { state: 'up', reason: `the machine ${pod.spec.nodeName ?? ''} does not answer` }
  const scheduled = condition(pod, 'PodScheduled')
  if (scheduled?.status === 'False')
    return { state: 'starting', reason: withDetail('the pod cannot be scheduled', scheduled.message) }
  if (pod.status.phase === 'Running') return { state: 'starting', reason: notReady(pod, ready) }
  const waiting = statuses(pod).flatMap(({ name, state }) => {
    const { reason = '', message = '' } = state?.waiting ?? {}
    // Ordinary steps of a start.
    if (['', 'ContainerCreating', 'PodInitializing'].includes(reason)) return []
    return [withDetail(`the container ${name} waits: ${reason}`, message)]
  })
  return { state: 'starting', ...(waiting[0] !== undefined && { reason: waiting[0] }) }
}

/** Why the containers of the pod cannot start. */
function failedContainer(pod: Pod): string | undefined {
  for (const { name, state, lastState } of statuses(pod)) {
    const { reason = '', message = '' } = state?.waiting ?? {}
    const failure = FAILURES[reason]
    if (failure === undefined) continue
    const detail = reason === 'CrashLoopBackOff' ? (exitOf({ name, lastState }) ?? message) : message
    return withDetail(`${failure} (${name}: ${reason})`, detail)
  }
  return undefined
}

function failureOf(pod: Pod): string {
  const { reason, message } = pod.status
  const disruption = condition(pod, 'DisruptionTarget')
  const exits = statuses(pod).flatMap((status) => exitOf({ name: status.name, lastState: status.state }) ?? [])
  if (reason !== '') return withDetail(POD_FAILURES[reason] ?? `the machine refused the pod: ${reason}`, message)
  if (disruption) return disruptionText(disruption)
  return exits[0] ?? withDetail('the pod has failed', message)
}

const deletion = (pod: Pod): string | undefined => {
  const disruption = condition(pod, 'DisruptionTarget')
  return disruption && disruptionText(disruption)
}

const disruptionText = ({ reason, message }: Condition): string =>
  withDetail(DISRUPTIONS[reason] ?? `the pod is disrupted: ${reason}`, message)

function notReady(pod: Pod, ready: Condition | undefined): string {
  const restarted = statuses(pod).find(({ restartCount }) => restartCount > 0)
  const exit = restarted && exitOf(restarted)
  if (exit !== undefined) return `${exit}, and was started again`
  return withDetail('the pod runs but is not ready', ready?.message ?? '')
}

/** How the last run of a container ended. */
function exitOf({ name, lastState }: Pick<ContainerStatus, 'name' | 'lastState'>): string | undefined {
  const ended = lastState?.terminated
  if (!ended || (ended.exitCode === 0 && ended.reason !== 'OOMKilled')) return undefined
  const why = ended.reason === 'OOMKilled' ? 'had too little memory' : `exited with code ${ended.exitCode}`
  return withDetail(`the container ${name} ${why}`, ended.message)
}

const statuses = ({ status }: Pod): ContainerStatus[] => [
  ...(status.initContainerStatuses ?? []),
  ...(status.containerStatuses ?? []),
]

const condition = ({ status }: Pod, type: string): Condition | undefined => {
  const found = status.conditions?.find((each) => each.type === type)
  return type === 'DisruptionTarget' && found?.status !== 'True' ? undefined : found
}

/** Longer details are cut: they are shown in REST and in events. */
const MAX_DETAIL = 500
const withDetail = (text: string, detail: string): string =>
  detail.trim() === '' ? text : `${text}: ${detail.trim().slice(0, MAX_DETAIL)}`
