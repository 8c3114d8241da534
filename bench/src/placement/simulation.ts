import { HEARTBEAT_INTERVAL_MS } from '@session-service/contract'
import type { Report } from '@session-service/master/placement'
import { Random } from '../autoscaling/random.js'
import { SimulatedNode } from './simulated-node.js'
import { TimerWheel } from './timer-wheel.js'
import type { Workload } from './workload.js'

/** Decides on which node a session is placed. Each master knows only the messages that have reached it. */
interface Policy {
  choose(master: number, session: number, now: number): number
  /** A heartbeat reaches a master. */
  onHeartbeat?(master: number, node: number, report: Report, now: number): void
  /** The choice of another master reaches a master. */
  onPlacement?(master: number, node: number, now: number): void
  /** A session ends that the master had placed. */
  onSessionEnd?(master: number, session: number, node: number): void
}

/** The true load, which only the oracles see. */
interface TrueLoad {
  /** Load of the sessions placed on each node, as it is now, percent of one core. */
  readonly committed: Float64Array
  /** The same, at the peak of every session. */
  readonly peak: Float64Array
}

export interface Outcome {
  /** Maximum over mean of the nodes' committed load: averaged over time. */
  maxOverMean: number
  /** The same at the worst moment. */
  worst: number
  decisions: number
  decisionsPerSecond: number
}

export type MakePolicy = (load: TrueLoad, random: () => number) => Policy

const SAMPLE_MS = 250
/** Delay of a heartbeat on its way to a master; one in twenty takes much longer. */
const DELAY_MS = { least: 1, most: 150 }
const LATE = { share: 0.05, ms: 600 }
/** Time from the choice until the room is open: a commit and a command to the node. */
const OPENING_MS = { least: 5, most: 60 }
/** Delay of the broadcast of a choice to the other masters. */
const BROADCAST_MS = { least: 1, most: 10 }

/** Simulates a cluster under a policy, with the delays of a real one. */
export class Simulation {
  readonly #random: Random
  readonly #timers = new TimerWheel()
  readonly #nodes: SimulatedNode[]
  readonly #load: { committed: Float64Array; peak: Float64Array }
  readonly #policy: Policy
  /** Node of each session; -1: not placed. */
  readonly #nodeOf: Int32Array
  readonly #costOf: Float32Array
  /** Time of the last delivery by node and master: messages of one sender keep their order. */
  readonly #lastDelivery: Float64Array
  #decisions = 0
  #decidingMs = 0

  constructor(
    private readonly workload: Workload,
    private readonly size: { nodes: number; masters: number },
    seed: number,
    make: MakePolicy,
  ) {
    const { nodes, masters } = size
    this.#random = new Random(seed)
    const choices = new Random(seed + 1)
    this.#nodes = Array.from({ length: nodes }, (_, index) => new SimulatedNode(index))
    this.#load = { committed: new Float64Array(nodes), peak: new Float64Array(nodes) }
    this.#policy = make(this.#load, () => choices.next())
    this.#nodeOf = new Int32Array(workload.peaks.length).fill(-1)
    this.#costOf = new Float32Array(workload.peaks.length)
    this.#lastDelivery = new Float64Array(nodes * masters)
  }

  run(): Outcome {
    const { times, endMs, warmMs } = this.workload
    const beats = this.#beatTimes()
    for (const node of this.#nodes) this.#beat(node, 0)
    let [next, samples, sum, worst] = [0, 0, 0, 0]
    for (let now = 0; now < endMs; now++) {
      this.#timers.run(now)
      for (const node of beats[now % HEARTBEAT_INTERVAL_MS] ?? []) this.#beat(node, now)
      while ((times[next] ?? Infinity) < now + 1) this.#change(next++, now)
      if (now <= warmMs || now % SAMPLE_MS > 0) continue
      const sample = this.#maxOverMean()
      samples++
      sum += sample
      worst = Math.max(worst, sample)
    }
    return {
      maxOverMean: sum / samples,
      worst,
      decisions: this.#decisions,
      decisionsPerSecond: (this.#decisions / this.#decidingMs) * 1_000,
    }
  }

  /** Each node sends its heartbeats at its own offset within the interval. */
  #beatTimes(): SimulatedNode[][] {
    const times = Array.from({ length: HEARTBEAT_INTERVAL_MS }, (): SimulatedNode[] => [])
    for (const node of this.#nodes) times[Math.floor(this.#random.next() * HEARTBEAT_INTERVAL_MS)]?.push(node)
    return times
  }

  #beat(node: SimulatedNode, now: number): void {
    if (!this.#policy.onHeartbeat) return
    const report = node.report(now, this.#random, (session) => this.#costOf[session] ?? 0)
    for (let master = 0; master < this.size.masters; master++) this.#deliver(master, node.index, report, now)
  }

  #deliver(master: number, node: number, report: Report, now: number): void {
    const delay = this.#random.next() < LATE.share ? LATE.ms : this.#between(DELAY_MS)
    const pair = node * this.size.masters + master
    const at = Math.max(Math.ceil(now + delay), this.#lastDelivery[pair] ?? 0)
    this.#lastDelivery[pair] = at
    this.#timers.at(at, () => this.#policy.onHeartbeat?.(master, node, report, at))
  }

  #change(index: number, now: number): void {
    const { sessions, costs, masters } = this.workload
    const session = sessions[index] ?? 0
    const cost = costs[index] ?? 0
    const before = this.#costOf[session] ?? 0
    const node = this.#placeOf(session, now)
    this.#costOf[session] = cost
    add(this.#load.committed, node, cost - before)
    this.#nodes[node]?.changed(session, cost - before)
    if (cost > 0) return
    add(this.#load.peak, node, -(this.workload.peaks[session] ?? 0))
    this.#policy.onSessionEnd?.(masters[session] ?? 0, session, node)
  }

  #placeOf(session: number, now: number): number {
    const existing = this.#nodeOf[session] ?? -1
    if (existing >= 0) return existing
    const master = this.workload.masters[session] ?? 0
    const before = performance.now()
    const node = this.#policy.choose(master, session, now)
    this.#decidingMs += performance.now() - before
    this.#decisions++
    this.#nodeOf[session] = node
    add(this.#load.peak, node, this.workload.peaks[session] ?? 0)
    this.#timers.at(now + this.#between(OPENING_MS), () => {
      this.#nodes[node]?.open(session, this.#costOf[session] ?? 0, now)
    })
    this.#broadcast(master, node, now)
    return node
  }

  #broadcast(master: number, node: number, now: number): void {
    if (!this.#policy.onPlacement) return
    for (let other = 0; other < this.size.masters; other++) {
      if (other === master) continue
      const at = Math.ceil(now + this.#between(BROADCAST_MS))
      this.#timers.at(at, () => this.#policy.onPlacement?.(other, node, at))
    }
  }

  #maxOverMean(): number {
    let [max, sum] = [0, 0]
    for (const load of this.#load.committed) {
      if (load > max) max = load
      sum += load
    }
    return (max * this.size.nodes) / sum
  }

  #between({ least, most }: { least: number; most: number }): number {
    return least + this.#random.next() * (most - least)
  }
}

function add(values: Float64Array, index: number, change: number): void {
  values[index] = (values[index] ?? 0) + change
}
