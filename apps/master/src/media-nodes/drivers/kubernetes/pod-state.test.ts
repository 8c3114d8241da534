import { describe, expect, it } from '@jest/globals'
import { Pod } from './kubernetes-objects.js'
import { podState } from './pod-state.js'

const pod = (status: object, metadata: object = {}, spec: object = {}): Pod =>
  Pod.parse({ metadata: { name: 'media-node-a', ...metadata }, spec: { nodeName: 'machine-1', ...spec }, status })

const waiting = (reason: string, message = '', more: object = {}) => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'media-node', ready: false, state: { waiting: { reason, message } }, ...more }],
})
const exited = (exitCode: number, reason = 'Error', message = '') => ({ terminated: { exitCode, reason, message } })
const ready = (status: string, more: object = {}) => ({ type: 'Ready', status, ...more })
const disruption = (reason: string, message = '') => ({ type: 'DisruptionTarget', status: 'True', reason, message })
const deleted = { deletionTimestamp: '2026-11-23T10:00:00Z' }

describe('podState', () => {
  it.each<[string, Pod, string, string | undefined]>([
    ['has no status yet', pod({}), 'starting', undefined],
    ['pulls its image', pod(waiting('ContainerCreating')), 'starting', undefined],
    [
      'cannot be scheduled',
      pod({
        phase: 'Pending',
        conditions: [
          {
            type: 'PodScheduled',
            status: 'False',
            reason: 'Unschedulable',
            message: '0/3 nodes are available: 3 Insufficient cpu.',
          },
        ],
      }),
      'starting',
      'the pod cannot be scheduled: 0/3 nodes are available: 3 Insufficient cpu.',
    ],
    [
      'failed to pull its image once',
      pod(waiting('ErrImagePull', 'connection refused')),
      'starting',
      'the container media-node waits: ErrImagePull: connection refused',
    ],
    [
      'has an image that cannot be pulled',
      pod(waiting('ImagePullBackOff', 'Back-off pulling image "media-node:9"')),
      'failed',
      'its image cannot be pulled (media-node: ImagePullBackOff): Back-off pulling image "media-node:9"',
    ],
    [
      'has an invalid image',
      pod(waiting('InvalidImageName')),
      'failed',
      'the name of its image is invalid (media-node: InvalidImageName)',
    ],
    [
      'lacks a secret',
      pod(waiting('CreateContainerConfigError', 'secret "nats" not found')),
      'failed',
      'its configuration is incomplete (media-node: CreateContainerConfigError): secret "nats" not found',
    ],
    [
      'crashes in a loop',
      pod(
        waiting('CrashLoopBackOff', 'back-off 20s', {
          restartCount: 3,
          lastState: exited(78, 'Error', 'NATS_URL: is mandatory'),
        }),
      ),
      'failed',
      'it crashes again and again (media-node: CrashLoopBackOff): the container media-node exited with code 78: NATS_URL: is mandatory',
    ],
    [
      'has a failing init container',
      pod({
        phase: 'Pending',
        initContainerStatuses: [
          { name: 'models', state: { waiting: { reason: 'CrashLoopBackOff' } }, lastState: exited(1) },
        ],
        containerStatuses: [{ name: 'media-node', state: { waiting: { reason: 'PodInitializing' } } }],
      }),
      'failed',
      'it crashes again and again (models: CrashLoopBackOff): the container models exited with code 1',
    ],
    [
      'was restarted for lack of memory',
      pod({
        phase: 'Running',
        conditions: [ready('False')],
        containerStatuses: [{ name: 'media-node', restartCount: 1, lastState: exited(137, 'OOMKilled') }],
      }),
      'starting',
      'the container media-node had too little memory, and was started again',
    ],
    [
      'runs and is not ready',
      pod({
        phase: 'Running',
        conditions: [
          ready('False', { reason: 'ContainersNotReady', message: 'containers with unready status: [media-node]' }),
        ],
      }),
      'starting',
      'the pod runs but is not ready: containers with unready status: [media-node]',
    ],
    ['is ready', pod({ phase: 'Running', conditions: [ready('True')] }), 'up', undefined],
    [
      'is on a machine that does not answer',
      pod({ phase: 'Running', conditions: [ready('Unknown', { reason: 'NodeStatusUnknown' })] }),
      'up',
      'the machine machine-1 does not answer',
    ],
    [
      'is evicted by the API',
      pod(
        {
          phase: 'Running',
          conditions: [ready('True'), disruption('EvictionByEvictionAPI', 'Eviction API: evicting')],
        },
        deleted,
      ),
      'ending',
      'the pod is evicted: Eviction API: evicting',
    ],
    [
      'ends with its machine',
      pod({ phase: 'Running', conditions: [disruption('DeletionByTaintManager')] }, deleted),
      'ending',
      'the machine has a taint that the pod does not tolerate',
    ],
    [
      'is deleted by an operator',
      pod({ phase: 'Running', conditions: [ready('True')] }, deleted),
      'ending',
      'the pod is being deleted',
    ],
    [
      'was evicted under pressure',
      pod({ phase: 'Failed', reason: 'Evicted', message: 'The node was low on resource: memory.' }),
      'failed',
      'the machine evicted the pod: The node was low on resource: memory.',
    ],
    [
      'was refused by its machine',
      pod({ phase: 'Failed', reason: 'OutOfcpu', message: 'Node had insufficient cpu' }),
      'failed',
      'the machine refused the pod: OutOfcpu: Node had insufficient cpu',
    ],
    [
      'was lost with its machine',
      pod({ phase: 'Failed', conditions: [disruption('DeletionByPodGC', 'PodGC: node no longer exists')] }),
      'failed',
      'the machine of the pod is gone: PodGC: node no longer exists',
    ],
    [
      'ended with an error',
      pod({ phase: 'Failed', containerStatuses: [{ name: 'media-node', state: exited(1) }] }),
      'failed',
      'the container media-node exited with code 1',
    ],
    ['has drained and ended', pod({ phase: 'Succeeded' }), 'ended', 'the media node has ended'],
  ])('of a pod that %s', (_, given, state, reason) => {
    expect(podState(given)).toEqual({ state, ...(reason !== undefined && { reason }) })
  })

  it('ignores a disruption that is over', () => {
    const over = { ...disruption('EvictionByEvictionAPI'), status: 'False' }
    expect(podState(pod({ phase: 'Running', conditions: [over] }, deleted)).reason).toBe('the pod is being deleted')
  })

  it('of a pod that no longer exists', () => {
    expect(podState(pod({ phase: 'Running' }), true)).toEqual({ state: 'ended', reason: 'the pod was deleted' })
    const evicted = pod({ phase: 'Running', conditions: [disruption('PreemptionByScheduler')] }, deleted)
    expect(podState(evicted, true).reason).toBe('the pod is preempted by one of a higher priority')
  })

  it('cuts a long message', () => {
    expect(podState(pod(waiting('ImagePullBackOff', 'x'.repeat(5_000)))).reason?.length).toBeLessThan(600)
  })
})
