import { trendOf } from './forecast.js'
import { adding, removing } from './scaling-order.js'
import type { Cluster, ClusterLoad, Limits, Memory, Plan, ScaledNode, ScalingAction } from './scaling.types.js'

/** The trend covers the boot time of a node, and at least this time, ms. */
const SHORTEST_TREND_MS = 60_000
/** A predicted load must exceed the limit by this factor, since a prediction is uncertain. */
const PREDICTION_MARGIN = 1.1
/** Remaining nodes must stay below this share of the limit; otherwise the removed node would be launched again soon. */
const REMAINING_SHARE = 0.95

interface View {
  now: number
  limits: Limits
  memory: Memory
  load: ClusterLoad
  inFlight: number
  /** Draining nodes that accept sessions again as soon as they receive `undrain`. */
  wakeable: number
  /** Predicted total load at the time when a node launched now accepts sessions. */
  predicted: number
  /** Highest total load of the last cool-down and of the prediction; undefined until samples cover a whole cool-down. */
  highest: number | undefined
}

interface Wanted {
  /** Nodes to add; negative: nodes to remove. */
  count: number
  reason: string
}

/**
 * Decides about the number of media nodes. The limits are those of the contract: nodes are added above the maximum
 * average load and removed below the minimum. Within the limits the decision uses a prediction: a node takes time to
 * start, so one is launched as soon as the trend exceeds the limit by then; and a node takes even longer to empty, so
 * one is removed as soon as the others could carry its load, during the whole last cool-down and in the prediction.
 * That is safe because a draining node can be woken at once.
 */
export function plan(cluster: Cluster, limits: Limits, before: Memory): Plan {
  const load = loadOf(cluster.nodes)
  const memory = remember(before, cluster, load.totalLoad, limits)
  const view = viewOf(cluster, limits, load, memory)
  const wanted = additions(view) ?? removals(view)
  if (!wanted) return { actions: [], reason: '', load, memory }
  const { count, reason } = wanted
  const actions = count > 0 ? adding(cluster.nodes, count) : removing(cluster.nodes, -count)
  const at = { [count > 0 ? 'addedAt' : 'removedAt']: cluster.now }
  return { actions, reason, load, memory: { ...memory, running: runningAfter(memory, actions), ...at } }
}

/** Without the terminated nodes, so that their end does not count as a loss. */
function runningAfter({ running }: Memory, actions: readonly ScalingAction[]): Set<string> {
  const ended = new Set(actions.flatMap((action) => (action.kind === 'terminate' ? [action.node.id] : [])))
  return new Set([...running].filter((id) => !ended.has(id)))
}

/** The average divides the load of nodes that hold sessions by the number of nodes that accept sessions now or soon. */
export function loadOf(nodes: readonly ScaledNode[]): ClusterLoad {
  const numNodes = nodes.filter(({ status }) => status === 'running' || status === 'launching').length
  const totalLoad = nodes
    .filter(({ status }) => status === 'running' || status === 'waiting-idle-to-terminate')
    .reduce((sum, { load }) => sum + load, 0)
  return { numNodes, totalLoad: rounded(totalLoad), avgLoad: numNodes === 0 ? 0 : rounded(totalLoad / numNodes) }
}

const rounded = (value: number): number => Math.round(value * 100) / 100

const trendMs = ({ bootMs }: Limits): number => Math.max(bootMs, SHORTEST_TREND_MS)

/**
 * Adds a sample. After the loss of a running node all samples are dropped: its load is no longer that of any node, and
 * its sessions move to the others in one step, which is no trend.
 */
function remember(memory: Memory, { now, nodes }: Cluster, totalLoad: number, limits: Limits): Memory {
  const present = new Set(nodes.map(({ id }) => id))
  const isNodeLost = [...memory.running].some((id) => !present.has(id))
  const oldest = now - Math.max(limits.cooldownMs, trendMs(limits))
  const earlier = isNodeLost ? [] : memory.samples.filter(({ at }) => at < now)
  // Keeps one older sample, which proves that the samples cover the whole time.
  const first = earlier.findLastIndex(({ at }) => at <= oldest)
  return {
    ...memory,
    samples: [...earlier.slice(Math.max(first, 0)), { at: now, totalLoad }],
    running: new Set(nodes.filter(({ status }) => status === 'running').map(({ id }) => id)),
  }
}

function viewOf({ now, nodes, inFlight = 0 }: Cluster, limits: Limits, load: ClusterLoad, memory: Memory): View {
  const since = (ms: number) => memory.samples.filter(({ at }) => at > now - ms)
  // Excludes the step that nodes were added for: extrapolated, it would launch more nodes while they start.
  const { addedAt = -Infinity } = memory
  const trend = trendOf(
    since(trendMs(limits)).filter(({ at }) => at > addedAt),
    now,
  )
  const predicted = trend ? Math.max(0, trend.level + trend.slope * limits.bootMs) : load.totalLoad
  const sampledSince = memory.samples[0]?.at ?? now
  const highest = Math.max(predicted, load.totalLoad, ...since(limits.cooldownMs).map(({ totalLoad }) => totalLoad))
  return {
    now,
    limits,
    memory,
    load,
    inFlight,
    wakeable: nodes.filter(({ status, canWake }) => status === 'waiting-idle-to-terminate' && canWake).length,
    predicted,
    highest: sampledSince <= now - limits.cooldownMs ? highest : undefined,
  }
}

function additions(view: View): Wanted | undefined {
  const { minNodes, maxNodes, maxLoad } = view.limits
  const { numNodes, avgLoad, totalLoad } = view.load
  const expected = numNodes + view.inFlight
  if (expected < minNodes) {
    return { count: minNodes - expected, reason: `${numNodes} nodes are fewer than the minimum of ${minNodes}` }
  }
  const atMost = (wanted: number) => Math.min(Math.ceil(wanted), maxNodes) - expected
  const average = `The average load of ${percent(avgLoad)}`
  // With a limit of 0, any load requires the maximum number of nodes.
  const missing = atMost(Math.max(totalLoad, view.predicted / PREDICTION_MARGIN) / Math.max(maxLoad, Number.EPSILON))
  if (avgLoad > maxLoad && missing > 0) {
    return { count: missing, reason: `${average} is above ${percent(maxLoad)}` }
  }
  // Draining nodes can be woken at once when the limit is exceeded.
  if (missing <= view.wakeable || isWithinCooldown(view, view.memory.removedAt)) return undefined
  return { count: missing, reason: `${average} will be above ${percent(maxLoad)} by the time a node has started` }
}

function removals(view: View): Wanted | undefined {
  const { minNodes, minLoad, maxLoad } = view.limits
  const { numNodes, avgLoad } = view.load
  const { highest, memory } = view
  const isCooling = isWithinCooldown(view, memory.addedAt) || isWithinCooldown(view, memory.removedAt)
  // A minimum of 0 disables removals: no average is below it.
  if (isCooling || minLoad === 0 || highest === undefined) return undefined
  const isBelow = highest / numNodes < minLoad
  const required = Math.max(minNodes, Math.ceil(highest / (isBelow ? maxLoad : REMAINING_SHARE * maxLoad)), 1)
  if (required >= numNodes) return undefined
  const average = `The average load of ${percent(avgLoad)}`
  const reason = isBelow
    ? `${average} is below ${percent(minLoad)}`
    : `${average} can be carried by ${required} of ${numNodes} nodes`
  return { count: required - numNodes, reason }
}

const isWithinCooldown = ({ now, limits }: View, at: number | undefined): boolean =>
  at !== undefined && now - at < limits.cooldownMs

const percent = (value: number): string => `${value.toFixed(2)} %`
