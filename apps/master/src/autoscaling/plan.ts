import { trendOf } from './forecast.js'
import { adding, removing } from './scaling-order.js'
import type { Cluster, ClusterLoad, Limits, Memory, Plan, ScaledNode, ScalingAction } from './scaling.types.js'

/** The trend is that of the last boot time of a node, and of this long at least, ms. */
const SHORTEST_TREND_MS = 60_000
/** A foreseen load has to be this much above the limit: a node is not launched for what may just as well not happen. */
const FORESEEN_ABOVE = 1.1
/** Nodes that stay must be under this share of the most that is allowed, or what was taken away would be missed soon. */
const KEPT_UNDER = 0.95

interface View {
  now: number
  limits: Limits
  memory: Memory
  load: ClusterLoad
  inFlight: number
  /** Nodes that take sessions again at once when they are told to. */
  wakeable: number
  /** The total by the time a node that is launched now would take sessions. */
  foreseen: number
  /** The most within the cool-down that has passed, and foreseen; undefined until a whole one was seen. */
  highest: number | undefined
}

interface Wanted {
  /** Negative: fewer. */
  count: number
  reason: string
}

/**
 * What to do about the number of media nodes. The limits are the contract's: above the highest average load nodes are
 * added, below the lowest they are taken away. Within them it looks ahead: a node takes its time to start, so one is
 * launched as soon as the trend says that the limit will have been passed by then; and since a node takes even longer
 * to empty, one is taken away already when the others could do its work, all through the last cool-down and as far as
 * can be foreseen. That is safe because a node that is emptying can be woken at once.
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

/** A node that is to end is not lost when it is gone. */
function runningAfter({ running }: Memory, actions: readonly ScalingAction[]): Set<string> {
  const ended = new Set(actions.flatMap((action) => (action.kind === 'terminate' ? [action.node.id] : [])))
  return new Set([...running].filter((id) => !ended.has(id)))
}

/** Of the nodes that hold sessions, over those that take them or soon will. */
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
 * A running node that is gone was lost. Then all samples go with it: its load is that of no node any more, and its
 * sessions come to the others in one step, which is no trend.
 */
function remember(memory: Memory, { now, nodes }: Cluster, totalLoad: number, limits: Limits): Memory {
  const there = new Set(nodes.map(({ id }) => id))
  const isLossSeen = [...memory.running].some((id) => !there.has(id))
  const oldest = now - Math.max(limits.cooldownMs, trendMs(limits))
  const earlier = isLossSeen ? [] : memory.samples.filter(({ at }) => at < now)
  // One more than needed, which proves that the whole time was seen.
  const first = earlier.findLastIndex(({ at }) => at <= oldest)
  return {
    ...memory,
    samples: [...earlier.slice(Math.max(first, 0)), { at: now, totalLoad }],
    running: new Set(nodes.filter(({ status }) => status === 'running').map(({ id }) => id)),
  }
}

function viewOf({ now, nodes, inFlight = 0 }: Cluster, limits: Limits, load: ClusterLoad, memory: Memory): View {
  const since = (ms: number) => memory.samples.filter(({ at }) => at > now - ms)
  // The step that nodes were added for is no trend: carried on, it would be reacted to again while they start.
  const { addedAt = -Infinity } = memory
  const trend = trendOf(
    since(trendMs(limits)).filter(({ at }) => at > addedAt),
    now,
  )
  const foreseen = trend ? Math.max(0, trend.level + trend.slope * limits.bootMs) : load.totalLoad
  const seenSince = memory.samples[0]?.at ?? now
  const highest = Math.max(foreseen, load.totalLoad, ...since(limits.cooldownMs).map(({ totalLoad }) => totalLoad))
  return {
    now,
    limits,
    memory,
    load,
    inFlight,
    wakeable: nodes.filter(({ status, canWake }) => status === 'waiting-idle-to-terminate' && canWake).length,
    foreseen,
    highest: seenSince <= now - limits.cooldownMs ? highest : undefined,
  }
}

function additions(view: View): Wanted | undefined {
  const { minNodes, maxNodes, maxLoad } = view.limits
  const { numNodes, avgLoad, totalLoad } = view.load
  const coming = numNodes + view.inFlight
  if (coming < minNodes) {
    return { count: minNodes - coming, reason: `${numNodes} nodes are fewer than the least of ${minNodes}` }
  }
  const atMost = (wanted: number) => Math.min(Math.ceil(wanted), maxNodes) - coming
  const average = `The average load of ${percent(avgLoad)}`
  // With a limit of 0 any load at all asks for as many as there may be.
  const lacking = atMost(Math.max(totalLoad, view.foreseen / FORESEEN_ABOVE) / Math.max(maxLoad, Number.EPSILON))
  if (avgLoad > maxLoad && lacking > 0) {
    return { count: lacking, reason: `${average} is above ${percent(maxLoad)}` }
  }
  // Those that can be woken are soon enough when the load is there.
  if (lacking <= view.wakeable || isWithinCooldown(view, view.memory.removedAt)) return undefined
  return { count: lacking, reason: `${average} will be above ${percent(maxLoad)} by the time a node has started` }
}

function removals(view: View): Wanted | undefined {
  const { minNodes, minLoad, maxLoad } = view.limits
  const { numNodes, avgLoad } = view.load
  const { highest, memory } = view
  const isCooling = isWithinCooldown(view, memory.addedAt) || isWithinCooldown(view, memory.removedAt)
  // No average is below 0: then nodes stay for good.
  if (isCooling || minLoad === 0 || highest === undefined) return undefined
  const isBelow = highest / numNodes < minLoad
  const enough = Math.max(minNodes, Math.ceil(highest / (isBelow ? maxLoad : KEPT_UNDER * maxLoad)), 1)
  if (enough >= numNodes) return undefined
  const average = `The average load of ${percent(avgLoad)}`
  const reason = isBelow
    ? `${average} is below ${percent(minLoad)}`
    : `${average} can be carried by ${enough} of ${numNodes} nodes`
  return { count: enough - numNodes, reason }
}

const isWithinCooldown = ({ now, limits }: View, at: number | undefined): boolean =>
  at !== undefined && now - at < limits.cooldownMs

const percent = (value: number): string => `${value.toFixed(2)} %`
