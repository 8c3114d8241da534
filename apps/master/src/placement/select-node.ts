import type { Heartbeat } from '@session-service/contract'

/** A node as the choice sees it. */
export interface Candidate {
  readonly nodeId: string
  readonly bootId: string
  readonly status: Heartbeat['status']
  readonly workers: number
  /** When its last heartbeat came, by the clock of `now`. */
  readonly heardAt: number
  /** As last reported, percent of the machine. */
  readonly load: number
  /** It crashed repeatedly. */
  readonly isBackedOff?: boolean
  /** What has been placed there since that report, percent of the machine. */
  readonly pending: number
}

/** What a session asks for. */
export interface Need {
  /** Percent of one core. */
  cost: number
  forcedNodeId?: string | undefined
  refusedBefore?: ReadonlySet<string> | undefined
}

export const REFUSALS = ['no such node', 'draining', 'no worker', 'refused before'] as const
export type Refusal = (typeof REFUSALS)[number]
export interface Refused {
  nodeId: string
  refusal: Refusal
}
export type Choice<C extends Candidate = Candidate> = { node: C } | { node?: undefined; refusals: Refused[] }

/** Two heartbeats missed: the node may be gone, though it is too early to say so. */
const SILENT_AFTER_MS = 1_250
/** More than any load: who is silent comes after all who are not. */
const SILENT = 1e6
/** More than that: a node that crashed repeatedly comes after all others, but is better than none. */
const BACKED_OFF = 1e9

/**
 * Of more nodes than this only so many are looked at, drawn at random. Masters hear of one another's choices some
 * milliseconds late; if each looked at all nodes, all would take the same one in the meantime.
 */
const SAMPLE = 20

/** The load that a node would have with this as well: what it reported, what was placed since, what comes now. */
export const loadWith = (
  { load, pending, workers, heardAt, isBackedOff = false }: Candidate,
  cost: number,
  now: number,
): number =>
  load +
  pending +
  cost / Math.max(workers, 1) +
  (now - heardAt > SILENT_AFTER_MS ? SILENT : 0) +
  (isBackedOff ? BACKED_OFF : 0)

/**
 * Chooses the node for a new session: the forced one, or the one with the least load, ties at random. However loaded
 * they all are, one takes it: a moment's load is no reason to turn people away. `random` gives a number in [0, 1).
 */
export function selectNode<C extends Candidate>(
  nodes: readonly C[],
  need: Need,
  now: number,
  random: () => number,
): Choice<C> {
  const isMany = nodes.length > SAMPLE && need.forcedNodeId === undefined
  // All of a sample may refuse.
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

/** As many as are looked at, drawn with replacement. */
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
