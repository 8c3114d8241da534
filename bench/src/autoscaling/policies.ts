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

/** The decision that masters take. */
export const ours: PolicyMaker = (limits) => {
  let memory = NO_MEMORY
  return (cluster) => {
    const next = plan(cluster, limits, memory)
    memory = next.memory
    return next.actions
  }
}

/** One more above the highest load, one less below the lowest. */
export const fixedThresholds: PolicyMaker = (limits) => (cluster) => {
  const { count, total } = sizeOf(cluster)
  const average = count === 0 ? 0 : total / count
  return change(cluster, limits, average > limits.maxLoad ? count + 1 : average < limits.minLoad ? count - 1 : count)
}

/** So many that the average is 50 %; fewer only when fewer were enough for five minutes. */
export const halfTarget: PolicyMaker = (limits) => {
  const enough = steady()
  return (cluster) => {
    const { count, total } = sizeOf(cluster)
    const isNear = Math.abs(total / count / HALF - 1) <= TOLERANCE
    return change(cluster, limits, enough(cluster.now, isNear ? count : Math.ceil(total / HALF), count))
  }
}

/** So many that the average will be 60 % in a boot's time, by the straight line of the last ten minutes. */
export const simplePredictor: PolicyMaker = (limits) => {
  const enough = steady()
  let samples: { at: number; totalLoad: number }[] = []
  return (cluster) => {
    const { now } = cluster
    const { count, total } = sizeOf(cluster)
    samples = [...samples.filter(({ at }) => at > now - 600_000), { at: now, totalLoad: total }]
    const trend = trendOf(samples, now)
    const ahead = trend ? trend.level + trend.slope * limits.bootMs : total
    return change(cluster, limits, enough(now, Math.ceil(Math.max(ahead, total) / 60), count))
  }
}

const HALF = 50
const TOLERANCE = 0.1
const STEADY_MS = 300_000

/** The most that was wanted within five minutes, when that is less than there is. */
function steady(): (now: number, wanted: number, count: number) => number {
  let asked: { at: number; wanted: number }[] = []
  return (now, wanted, count) => {
    asked = [...asked.filter(({ at }) => at > now - STEADY_MS), { at: now, wanted }]
    return wanted >= count ? wanted : Math.min(count, Math.max(...asked.map((one) => one.wanted)))
  }
}

function sizeOf({ nodes }: Cluster): { count: number; total: number } {
  const isThere = (status: string) => status === 'running' || status === 'launching'
  return {
    count: nodes.filter(({ status }) => isThere(status)).length,
    total: nodes.reduce((sum, { load }) => sum + load, 0),
  }
}

function change(cluster: Cluster, { minNodes, maxNodes }: Limits, wanted: number): ReturnType<Policy> {
  const by = Math.min(maxNodes, Math.max(minNodes, wanted)) - sizeOf(cluster).count
  return by > 0 ? adding(cluster.nodes, by) : removing(cluster.nodes, -by)
}
