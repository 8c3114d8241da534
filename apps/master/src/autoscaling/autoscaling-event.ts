import type { BackendEvent } from '@session-service/contract'
import type { EventDraft } from '../events/event-drafts.js'
import type { Cluster, Limits, Plan, ScaledNode, ScalingAction } from './scaling.types.js'

type Shown = BackendEvent<'autoscaling'>['system']['status']['runningNodes'][number]

/** What a backend is told of a decision: what is done, to which nodes as they were, and why. */
export function autoscalingEvent(plan: Plan, { now, nodes }: Cluster, limits: Limits, clusterId: string): EventDraft {
  const { actions, reason, load } = plan
  const named = (...kinds: ScalingAction['kind'][]) =>
    actions.flatMap((action) => ('node' in action && kinds.includes(action.kind) ? [shown(action.node)] : []))
  const by = (status: string) => nodes.filter((node) => node.status === status).map(shown)
  const newNodes = actions.filter(({ kind }) => kind === 'launch').length
  const woken = named('wake')
  const relaunched = named('relaunch')
  const ended = named('drain', 'terminate')
  const canceled = named('cancel')
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
          runningNodes: by('running'),
          launchingNodes: by('launching'),
          waitingIdleToTerminateNodes: by('waiting-idle-to-terminate'),
          canceledNodes: by('canceled'),
        },
      },
    },
  }
}

const shown = ({ id, environmentId, ip, load, status }: ScaledNode): Shown => ({ id, environmentId, ip, load, status })
