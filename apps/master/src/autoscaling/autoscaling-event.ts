import type { BackendEvent } from '@session-service/contract'
import type { EventDraft } from '../events/event-drafts.js'
import type { Cluster, Limits, Plan, ScaledNode, ScalingAction } from './scaling.types.js'

type EventNode = BackendEvent<'autoscaling'>['system']['status']['runningNodes'][number]

/** The event of a decision: its actions, the nodes with their status before it, and the reason. */
export function autoscalingEvent(plan: Plan, { now, nodes }: Cluster, limits: Limits, clusterId: string): EventDraft {
  const { actions, reason, load } = plan
  const nodesOf = (...kinds: ScalingAction['kind'][]) =>
    actions.flatMap((action) => ('node' in action && kinds.includes(action.kind) ? [eventNode(action.node)] : []))
  const withStatus = (status: string) => nodes.filter((node) => node.status === status).map(eventNode)
  const newNodes = actions.filter(({ kind }) => kind === 'launch').length
  const woken = nodesOf('wake')
  const relaunched = nodesOf('relaunch')
  const ended = nodesOf('drain', 'terminate')
  const canceled = nodesOf('cancel')
  return {
    name: 'autoscaling',
    payload: {
      timestamp: now,
      clusterId,
      reason,
      mediaNodes: {
        launch: {
          total: newNodes + woken.length + relaunched.length,
          newNodes,
          waitingIdleToTerminateNodes: woken,
          canceledNodes: relaunched,
        },
        terminate: { total: ended.length + canceled.length, runningNodes: ended, launchingNodes: canceled },
      },
      system: {
        config: {
          maxNodes: limits.maxNodes,
          minNodes: limits.minNodes,
          maxAvgLoad: limits.maxLoad,
          minAvgLoad: limits.minLoad,
        },
        status: {
          ...load,
          runningNodes: withStatus('running'),
          launchingNodes: withStatus('launching'),
          waitingIdleToTerminateNodes: withStatus('waiting-idle-to-terminate'),
          canceledNodes: withStatus('canceled'),
        },
      },
    },
  }
}

const eventNode = ({ id, environmentId, ip, load, status }: ScaledNode): EventNode => ({
  id,
  environmentId,
  ip,
  load,
  status,
})
