import { costOf, EXPECTED_SESSION } from '@session-service/contract'
import { PlacementLedger, selectNode } from '@session-service/master/placement'
import type { MakePolicy } from './simulation.js'

interface Size {
  nodes: number
  masters: number
}

/** One of the least, at random. */
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

/** A table of the nodes for each master. */
function tables({ nodes, masters }: Size): (master: number) => Float64Array {
  const all = Array.from({ length: masters }, () => new Float64Array(nodes))
  return (master) => {
    const table = all[master]
    if (!table) throw new Error(`there is no master ${master}`)
    return table
  }
}

/** What the masters run. */
const ledger =
  ({ masters }: Size): MakePolicy =>
  (_truth, random) => {
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
      hear: (master, _node, report, now) => ledgers[master]?.updateNode(report, now),
      learn: (master, node, now) => ledgers[master]?.placed({ nodeId: `${node}`, bootId: 'boot' }, cost, now),
    }
  }

/** Knows what is committed at this moment, everywhere and at once. */
const oracle =
  (): MakePolicy =>
  ({ committed }, random) => ({ choose: () => leastOf(committed, random) })

/** Knows as well what every session is going to be. */
const clairvoyant =
  (): MakePolicy =>
  ({ becoming }, random) => ({ choose: () => leastOf(becoming, random) })

const random =
  ({ nodes }: Size): MakePolicy =>
  (_truth, draw) => ({ choose: () => Math.floor(draw() * nodes) })

const roundRobin =
  ({ nodes, masters }: Size): MakePolicy =>
  (_truth, draw) => {
    const next = Array.from({ length: masters }, () => Math.floor(draw() * nodes))
    return {
      choose: (master) => {
        const node = next[master] ?? 0
        next[master] = (node + 1) % nodes
        return node
      },
    }
  }

/** As a proxy does it: by the sessions that it has sent there itself and that are not over. */
const leastConnections =
  (size: Size): MakePolicy =>
  (_truth, draw) => {
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
      ended: (master, _session, node) => add(master, node, -1),
    }
  }

/** As the lineage does it: by the processors' load as last reported. */
const staleLeastCpu =
  (size: Size): MakePolicy =>
  (_truth, draw) => {
    const cpu = tables(size)
    return {
      choose: (master) => leastOf(cpu(master), draw),
      hear: (master, node, { cpuLoad }) => void (cpu(master)[node] = cpuLoad),
    }
  }

/** Of two at random the one that last reported less. */
const twoChoice =
  (size: Size): MakePolicy =>
  (_truth, draw) => {
    const committed = tables(size)
    return {
      choose: (master) => {
        const own = committed(master)
        const one = Math.floor(draw() * size.nodes)
        const other = Math.floor(draw() * size.nodes)
        return (own[one] ?? 0) <= (own[other] ?? 0) ? one : other
      },
      hear: (master, node, report) => void (committed(master)[node] = report.committed),
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
