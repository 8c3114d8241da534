import { expect, it } from '@jest/globals'
import { BACKEND_EVENTS, type MediaNodeStatus } from '@session-service/contract'
import { autoscalingEvent } from './autoscaling-event.js'
import { NO_MEMORY, type Plan, type ScaledNode } from './scaling.types.js'

const LIMITS = { minNodes: 1, maxNodes: 8, minLoad: 20, maxLoad: 70, cooldownMs: 1, bootMs: 1 }
const node = (id: string, status: MediaNodeStatus, load = 0): ScaledNode => ({
  ...{ id, status, load, environmentId: `env-${id}`, ip: '10.0.0.1', held: 0, launchingTime: 5, canWake: true },
})
const shown = (id: string, status: MediaNodeStatus, load = 0) => ({
  ...{ id, status, load, environmentId: `env-${id}`, ip: '10.0.0.1' },
})
const nodes = [
  node('r', 'running', 73.18),
  node('l', 'launching'),
  node('w', 'waiting-idle-to-terminate', 3),
  node('c', 'canceled'),
]
const eventOf = (actions: Plan['actions']): unknown => {
  const load = { numNodes: 2, totalLoad: 76.18, avgLoad: 38.09 }
  const plan: Plan = { actions, reason: 'Because.', load, memory: NO_MEMORY }
  const { name, payload } = autoscalingEvent(plan, { now: 17, nodes }, LIMITS, 'my-cluster')
  expect(name).toBe('autoscaling')
  return BACKEND_EVENTS.autoscaling.parse(payload)
}
const none = { total: 0, newNodes: 0, waitingIdleToTerminateNodes: [], canceledNodes: [] }

it('lists added nodes by kind of action, and the cluster before the decision', () => {
  const [, , waiting, canceled] = nodes
  if (!waiting || !canceled) throw new Error('missing test node')
  const actions: Plan['actions'] = [
    { kind: 'wake', node: waiting },
    { kind: 'relaunch', node: canceled },
    { kind: 'launch' },
    { kind: 'launch' },
  ]
  expect(eventOf(actions)).toEqual({
    timestamp: 17,
    clusterId: 'my-cluster',
    reason: 'Because.',
    mediaNodes: {
      launch: {
        total: 4,
        newNodes: 2,
        waitingIdleToTerminateNodes: [shown('w', 'waiting-idle-to-terminate', 3)],
        canceledNodes: [shown('c', 'canceled')],
      },
      terminate: { total: 0, runningNodes: [], launchingNodes: [] },
    },
    system: {
      config: { maxNodes: 8, minNodes: 1, maxAvgLoad: 70, minAvgLoad: 20 },
      status: {
        numNodes: 2,
        totalLoad: 76.18,
        avgLoad: 38.09,
        runningNodes: [shown('r', 'running', 73.18)],
        launchingNodes: [shown('l', 'launching')],
        waitingIdleToTerminateNodes: [shown('w', 'waiting-idle-to-terminate', 3)],
        canceledNodes: [shown('c', 'canceled')],
      },
    },
  })
})

it('lists removed nodes by their status before the decision', () => {
  const [running, launching] = nodes
  if (!running || !launching) throw new Error('missing test node')
  const actions: Plan['actions'] = [
    { kind: 'cancel', node: launching },
    { kind: 'drain', node: running },
    { kind: 'terminate', node: running },
  ]
  expect(eventOf(actions)).toMatchObject({
    mediaNodes: {
      launch: none,
      terminate: {
        total: 3,
        runningNodes: [shown('r', 'running', 73.18), shown('r', 'running', 73.18)],
        launchingNodes: [shown('l', 'launching')],
      },
    },
  })
})
