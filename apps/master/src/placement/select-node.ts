import type { Heartbeat } from '@session-service/contract'

/** A media node as `selectNode` evaluates it. */
export interface Candidate {
  readonly nodeId: string
  readonly bootId: string
  readonly status: Heartbeat['status']
  readonly workers: number
  /** Time of its last heartbeat, by the clock of `now`. */
  readonly lastHeartbeatAt: number
  /** The interval of its heartbeats, ms. */
  readonly everyMs: number
  /** Load of its last heartbeat, percent of the machine. */
  readonly load: number
  /** It crashed repeatedly. */
  readonly isBackedOff?: boolean
  /** Cost of the placements since that heartbeat, percent of the machine. */
  readonly pending: number
}

/** Requirements of a session. */
export interface Need {
  /** Percent of one core. */
  cost: number
  forcedNodeId?: string | undefined
  refusedBefore?: ReadonlySet<string> | undefined
}

export const REFUSALS = ['no such node', 'draining', 'no worker', 'refused before'] as const
type Refusal = (typeof REFUSALS)[number]
export interface Refused {
  nodeId: string
  refusal: Refusal
}
type Choice<C extends Candidate = Candidate> = { node: C } | { node?: undefined; refusals: Refused[] }

/** This long after the heartbeat that should have come a node may have failed, though it does not count as lost yet. */
const SILENT_AFTER_MS = 750
/** Exceeds any load, so that silent nodes come after all others. */
const SILENT = 1e6
/** Exceeds SILENT: a node that crashed repeatedly is the last choice. */
const BACKED_OFF = 1e9

/**
 * In a larger cluster, the choice considers a random sample of this size. Masters learn of each other's placements
 * some milliseconds late; if each considered all nodes, all would choose the same one in the meantime.
 */
const SAMPLE = 20

/** The load that a node would have with this session: reported load, pending placements and the new cost. */
export const loadWith = (
  { load, pending, workers, lastHeartbeatAt, everyMs, isBackedOff = false }: Candidate,
  cost: number,
  now: number,
): number =>
  load +
  pending +
  cost / Math.max(workers, 1) +
  (now - lastHeartbeatAt > everyMs + SILENT_AFTER_MS ? SILENT : 0) +
  (isBackedOff ? BACKED_OFF : 0)

/**
 * Selects the node for a new session: the forced one, or the one with the lowest load, ties at random. There is no
 * load limit: a momentary peak must not reject participants. `random` gives a number in [0, 1).
 */
export function selectNode<C extends Candidate>(
  nodes: readonly C[],
  need: Need,
  now: number,
  random: () => number,
): Choice<C> {
  const isMany = nodes.length > SAMPLE && need.forcedNodeId === undefined
  // All nodes of a sample may be unsuitable.
  const ofSome = isMany ? leastOf(sampleOf(nodes, random), need, now, random) : undefined
  const node = ofSome ?? leastOf(nodes, need, now, random)
  return node ? { node } : { refusals: refusals(nodes, need) }
}

function leastOf<C extends Candidate>(
  nodes: readonly C[],
  need: Need,
  now: number,
  random: () => number,
): C | undefined {
  let best: C | undefined
  let least = Infinity
  let ties = 0
  for (const node of nodes) {
    if (refusalOf(node, need)) continue
    const load = loadWith(node, need.cost, now)
    if (load > least) continue
    ties = load < least ? 1 : ties + 1
    if (ties === 1 || random() * ties < 1) best = node
    least = load
  }
  return best
}

/** A sample drawn with replacement. */
const sampleOf = <C extends Candidate>(nodes: readonly C[], random: () => number): C[] =>
  Array.from({ length: SAMPLE }, () => nodes[Math.floor(random() * nodes.length)]).filter((node) => node !== undefined)

function refusalOf(node: Candidate, { forcedNodeId, refusedBefore }: Need): Refusal | undefined {
  if (forcedNodeId !== undefined && node.nodeId !== forcedNodeId) return 'no such node'
  if (refusedBefore?.has(node.nodeId)) return 'refused before'
  if (node.status === 'draining') return 'draining'
  if (node.workers === 0) return 'no worker'
  return undefined
}

function refusals(nodes: readonly Candidate[], need: Need): Refused[] {
  const { forcedNodeId } = need
  const considered = forcedNodeId === undefined ? nodes : nodes.filter(({ nodeId }) => nodeId === forcedNodeId)
  if (forcedNodeId !== undefined && considered.length === 0) {
    return [{ nodeId: forcedNodeId, refusal: 'no such node' }]
  }
  return considered.flatMap((node) => {
    const refusal = refusalOf(node, need)
    return refusal ? [{ nodeId: node.nodeId, refusal }] : []
  })
}
