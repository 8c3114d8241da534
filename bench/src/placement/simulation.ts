import { HEARTBEAT_INTERVAL_MS } from '@session-service/contract'
import type { Report } from '@session-service/master/placement'
import { Random } from '../autoscaling/random.js'
import { SimulatedNode } from './simulated-node.js'
import { Soon } from './soon.js'
import type { Workload } from './workload.js'

/** How sessions get their nodes. Each master knows what it was told, once it was told. */
export interface Policy {
  choose(master: number, session: number, now: number): number
  /** A heartbeat reaches a master. */
  hear?(master: number, node: number, report: Report, now: number): void
  /** A master hears what another one has chosen. */
  learn?(master: number, node: number, now: number): void
  /** A session is over that the master had placed. */
  ended?(master: number, session: number, node: number): void
}

/** What nobody but an oracle sees. */
export interface Truth {
  /** What each node has been given, as it is now, percent of one core. */
  readonly committed: Float64Array
  /** The same, as it will be when all have come who are going to. */
  readonly becoming: Float64Array
}

export interface Outcome {
  /** Of the committed load over the nodes: the mean over time, and the worst moment. */
  maxOverMean: number
  worst: number
  decisions: number
  decisionsPerSecond: number
}

export type MakePolicy = (truth: Truth, random: () => number) => Policy

const SAMPLE_MS = 250
/** A heartbeat takes so long to a master, and one in twenty much longer. */
const DELAY_MS = { least: 1, most: 150 }
const LATE = { share: 0.05, ms: 600 }
/** From the choice to the open room: a commit, and a command to the node. */
const OPENING_MS = { least: 5, most: 60 }
/** How soon masters hear of one another's choices. */
const TELLING_MS = { least: 1, most: 10 }

/** A cluster under a policy, with everything late that is late in a real one. */
export class Simulation {
  readonly #random: Random
  readonly #soon = new Soon()
  readonly #nodes: SimulatedNode[]
  readonly #truth: { committed: Float64Array; becoming: Float64Array }
  readonly #policy: Policy
  /** Of each session; -1: not placed. */
  readonly #nodeOf: Int32Array
  readonly #costOf: Float32Array
  /** By node and master: messages of one sender keep their order. */
  readonly #lastHeard: Float64Array
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
    this.#truth = { committed: new Float64Array(nodes), becoming: new Float64Array(nodes) }
    this.#policy = make(this.#truth, () => choices.next())
    this.#nodeOf = new Int32Array(workload.peaks.length).fill(-1)
    this.#costOf = new Float32Array(workload.peaks.length)
    this.#lastHeard = new Float64Array(nodes * masters)
  }

  run(): Outcome {
    const { times, endMs, warmMs } = this.workload
    const beats = this.#beatTimes()
    for (const node of this.#nodes) this.#beat(node, 0)
    let [next, samples, sum, worst] = [0, 0, 0, 0]
    for (let now = 0; now < endMs; now++) {
      this.#soon.run(now)
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

  /** Each node has its own moment of the half second. */
  #beatTimes(): SimulatedNode[][] {
    const times = Array.from({ length: HEARTBEAT_INTERVAL_MS }, (): SimulatedNode[] => [])
    for (const node of this.#nodes) times[Math.floor(this.#random.next() * HEARTBEAT_INTERVAL_MS)]?.push(node)
    return times
  }

  #beat(node: SimulatedNode, now: number): void {
    if (!this.#policy.hear) return
    const report = node.report(now, this.#random, (session) => this.#costOf[session] ?? 0)
    for (let master = 0; master < this.size.masters; master++) this.#deliver(master, node.index, report, now)
  }

  #deliver(master: number, node: number, report: Report, now: number): void {
    const delay = this.#random.next() < LATE.share ? LATE.ms : this.#between(DELAY_MS)
    const pair = node * this.size.masters + master
    const at = Math.max(Math.ceil(now + delay), this.#lastHeard[pair] ?? 0)
    this.#lastHeard[pair] = at
    this.#soon.at(at, () => this.#policy.hear?.(master, node, report, at))
  }

  #change(index: number, now: number): void {
    const { sessions, costs, masters } = this.workload
    const session = sessions[index] ?? 0
    const cost = costs[index] ?? 0
    const before = this.#costOf[session] ?? 0
    const node = this.#placeOf(session, now)
    this.#costOf[session] = cost
    add(this.#truth.committed, node, cost - before)
    this.#nodes[node]?.changed(session, cost - before)
    if (cost > 0) return
    add(this.#truth.becoming, node, -(this.workload.peaks[session] ?? 0))
    this.#policy.ended?.(masters[session] ?? 0, session, node)
  }

  #placeOf(session: number, now: number): number {
    const present = this.#nodeOf[session] ?? -1
    if (present >= 0) return present
    const master = this.workload.masters[session] ?? 0
    const before = performance.now()
    const node = this.#policy.choose(master, session, now)
    this.#decidingMs += performance.now() - before
    this.#decisions++
    this.#nodeOf[session] = node
    add(this.#truth.becoming, node, this.workload.peaks[session] ?? 0)
    this.#soon.at(now + this.#between(OPENING_MS), () => {
      this.#nodes[node]?.open(session, this.#costOf[session] ?? 0, now)
    })
    this.#tellOthers(master, node, now)
    return node
  }

  #tellOthers(master: number, node: number, now: number): void {
    if (!this.#policy.learn) return
    for (let other = 0; other < this.size.masters; other++) {
      if (other === master) continue
      const at = Math.ceil(now + this.#between(TELLING_MS))
      this.#soon.at(at, () => this.#policy.learn?.(other, node, at))
    }
  }

  #maxOverMean(): number {
    let [max, sum] = [0, 0]
    for (const load of this.#truth.committed) {
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
