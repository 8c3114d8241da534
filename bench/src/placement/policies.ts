import { costOf, EXPECTED_SESSION } from '@session-service/contract'
import { PlacementLedger, selectNode } from '@session-service/master/placement'
import type { MakePolicy } from './simulation.js'

interface Size {
  nodes: number
  masters: number
}

/** Chooses a node with the least load; ties are broken at random. */
function leastOf(loads: Float64Array, random: () => number): number {
  let [least, chosen, ties] = [Infinity, 0, 0]
  for (let node = 0; node < loads.length; node++) {
    const load = loads[node] ?? Infinity
    if (load > least) continue
    ties = load < least ? 1 : ties + 1
    if (ties === 1 || random() * ties < 1) chosen = node
    least = load
  }
  return chosen
}

/** Creates a table of the nodes for each master. */
function tables({ nodes, masters }: Size): (master: number) => Float64Array {
  const all = Array.from({ length: masters }, () => new Float64Array(nodes))
  return (master) => {
    const table = all[master]
    if (!table) throw new Error(`there is no master ${master}`)
    return table
  }
}

/** The placement that masters run. */
const ledger =
  ({ masters }: Size): MakePolicy =>
  (_load, random) => {
    const cost = costOf(EXPECTED_SESSION)
    const ledgers = Array.from({ length: masters }, () => new PlacementLedger())
    return {
      choose: (master, _session, now) => {
        const own = ledgers[master]
        const { node } = selectNode(own?.nodes ?? [], { cost }, now, random)
        if (!node) throw new Error('no node was chosen')
        own?.placed(node, cost, now)
        return Number(node.nodeId)
      },
      onHeartbeat: (master, _node, report, now) => ledgers[master]?.updateNode(report, now),
      onPlacement: (master, node, now) => ledgers[master]?.placed({ nodeId: `${node}`, bootId: 'boot' }, cost, now),
    }
  }

/** Knows the committed load of all nodes without delay. */
const oracle =
  (): MakePolicy =>
  ({ committed }, random) => ({ choose: () => leastOf(committed, random) })

/** Also knows the peak load of every session. */
const clairvoyant =
  (): MakePolicy =>
  ({ peak }, random) => ({ choose: () => leastOf(peak, random) })

const random =
  ({ nodes }: Size): MakePolicy =>
  (_load, draw) => ({ choose: () => Math.floor(draw() * nodes) })

const roundRobin =
  ({ nodes, masters }: Size): MakePolicy =>
  (_load, draw) => {
    const next = Array.from({ length: masters }, () => Math.floor(draw() * nodes))
    return {
      choose: (master) => {
        const node = next[master] ?? 0
        next[master] = (node + 1) % nodes
        return node
      },
    }
  }

/** Like a proxy: chooses by the number of live sessions that the master itself has placed. */
const leastConnections =
  (size: Size): MakePolicy =>
  (_load, draw) => {
    const live = tables(size)
    const add = (master: number, node: number, change: number): void => {
      const table = live(master)
      table[node] = (table[node] ?? 0) + change
    }
    return {
      choose: (master) => {
        const node = leastOf(live(master), draw)
        add(master, node, 1)
        return node
      },
      onSessionEnd: (master, _session, node) => add(master, node, -1),
    }
  }

/** Chooses by the CPU load as last reported. */
const staleLeastCpu =
  (size: Size): MakePolicy =>
  (_load, draw) => {
    const cpu = tables(size)
    return {
      choose: (master) => leastOf(cpu(master), draw),
      onHeartbeat: (master, node, { cpuLoad }) => void (cpu(master)[node] = cpuLoad),
    }
  }

/** Chooses the less loaded of two random nodes, as last reported. */
const twoChoice =
  (size: Size): MakePolicy =>
  (_load, draw) => {
    const committed = tables(size)
    return {
      choose: (master) => {
        const own = committed(master)
        const one = Math.floor(draw() * size.nodes)
        const other = Math.floor(draw() * size.nodes)
        return (own[one] ?? 0) <= (own[other] ?? 0) ? one : other
      },
      onHeartbeat: (master, node, report) => void (committed(master)[node] = report.committed),
    }
  }

export const POLICIES = {
  ours: ledger,
  oracle,
  clairvoyant,
  random,
  'round-robin': roundRobin,
  'least connections': leastConnections,
  'two-choice': twoChoice,
  'stale least CPU': staleLeastCpu,
} satisfies Record<string, (size: Size) => MakePolicy>
export type PolicyName = keyof typeof POLICIES
export const POLICY_NAMES = Object.keys(POLICIES) as PolicyName[]
