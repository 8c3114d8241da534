import {
  adding,
  type Cluster,
  type Limits,
  NO_MEMORY,
  plan,
  removing,
  trendOf,
} from '@session-service/master/autoscaling'
import type { Policy } from './simulation.js'

export type PolicyMaker = (limits: Limits) => Policy

/** The scaling plan of the masters. */
export const ours: PolicyMaker = (limits) => {
  let memory = NO_MEMORY
  return (cluster) => {
    const next = plan(cluster, limits, memory)
    memory = next.memory
    return next.actions
  }
}

/** Adds a node above the maximum load, removes one below the minimum. */
export const fixedThresholds: PolicyMaker = (limits) => (cluster) => {
  const { count, total } = sizeOf(cluster)
  const average = count === 0 ? 0 : total / count
  return change(cluster, limits, average > limits.maxLoad ? count + 1 : average < limits.minLoad ? count - 1 : count)
}

/** Targets an average of 50 %; scales in only when fewer nodes were enough for five minutes. */
export const halfTarget: PolicyMaker = (limits) => {
  const stabilise = delayScaleIn()
  return (cluster) => {
    const { count, total } = sizeOf(cluster)
    const isNear = Math.abs(total / count / TARGET_LOAD - 1) <= TOLERANCE
    return change(cluster, limits, stabilise(cluster.now, isNear ? count : Math.ceil(total / TARGET_LOAD), count))
  }
}

/** Targets an average of 60 % one boot time ahead, by linear extrapolation of the last ten minutes. */
export const simplePredictor: PolicyMaker = (limits) => {
  const stabilise = delayScaleIn()
  let samples: { at: number; totalLoad: number }[] = []
  return (cluster) => {
    const { now } = cluster
    const { count, total } = sizeOf(cluster)
    samples = [...samples.filter(({ at }) => at > now - 600_000), { at: now, totalLoad: total }]
    const trend = trendOf(samples, now)
    const ahead = trend ? trend.level + trend.slope * limits.bootMs : total
    return change(cluster, limits, stabilise(now, Math.ceil(Math.max(ahead, total) / 60), count))
  }
}

const TARGET_LOAD = 50
const TOLERANCE = 0.1
const SCALE_IN_WINDOW_MS = 300_000

/** Delays scale-in: returns the maximum that was wanted within five minutes, when that is less than `count`. */
function delayScaleIn(): (now: number, wanted: number, count: number) => number {
  let requests: { at: number; wanted: number }[] = []
  return (now, wanted, count) => {
    requests = [...requests.filter(({ at }) => at > now - SCALE_IN_WINDOW_MS), { at: now, wanted }]
    return wanted >= count ? wanted : Math.min(count, Math.max(...requests.map((one) => one.wanted)))
  }
}

function sizeOf({ nodes }: Cluster): { count: number; total: number } {
  const isActive = (status: string) => status === 'running' || status === 'launching'
  return {
    count: nodes.filter(({ status }) => isActive(status)).length,
    total: nodes.reduce((sum, { load }) => sum + load, 0),
  }
}

function change(cluster: Cluster, { minNodes, maxNodes }: Limits, wanted: number): ReturnType<Policy> {
  const by = Math.min(maxNodes, Math.max(minNodes, wanted)) - sizeOf(cluster).count
  return by > 0 ? adding(cluster.nodes, by) : removing(cluster.nodes, -by)
}
