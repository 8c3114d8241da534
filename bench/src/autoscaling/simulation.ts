import type { Cluster, Limits, ScaledNode, ScalingAction } from '@session-service/master/autoscaling'
import { type SimulatedSession, STEP_MS, STEPS } from './day.js'
import { Random } from './random.js'

/** Decides the scaling actions of one evaluation of a cluster. */
export type Policy = (cluster: Cluster) => readonly ScalingAction[]

export interface Outcome {
  nodeHours: number
  /** Share of the session time that is spent on overloaded nodes. */
  overShare: number
  /** Sessions that found no node, or whose node was terminated. */
  cut: number
  /** Number of scaling actions. */
  changes: number
}

/** A node with a higher load is overloaded, percent. */
export const OVERLOADED = 90
/** Relative standard deviation of the measured load. */
const MEASUREMENT_NOISE = 0.03

type SimulatedNode = Omit<ScaledNode, 'load' | 'held' | 'status'> & {
  load: number
  held: number
  status: ScaledNode['status']
  readyAt: number
}

/** Simulates one day of a cluster under a policy. Sessions go to the least loaded node and stay there. */
export function simulate(sessions: readonly SimulatedSession[], policy: Policy, limits: Limits, seed: number): Outcome {
  return new Simulation(sessions, policy, limits, seed).run()
}

class Simulation {
  readonly #random: Random
  readonly #nodes = new Map<string, SimulatedNode>()
  readonly #endings: { node: SimulatedNode; load: number }[][] = []
  readonly #outcome: Outcome = { nodeHours: 0, overShare: 0, cut: 0, changes: 0 }
  #sessionSteps = 0
  #overSteps = 0
  #launched = 0

  constructor(
    private readonly sessions: readonly SimulatedSession[],
    private readonly policy: Policy,
    private readonly limits: Limits,
    seed: number,
  ) {
    this.#random = new Random(seed)
    for (let count = 0; count < limits.minNodes; count++) this.#launch(-Infinity)
  }

  run(): Outcome {
    let next = 0
    for (let step = 0; step < STEPS; step++) {
      this.#end(step)
      this.#applyTransitions(step)
      for (let one = this.sessions[next]; one && one.start === step; one = this.sessions[++next]) this.#place(one)
      this.#count()
      for (const action of this.policy(this.#observe(step))) this.#apply(action, step)
    }
    return { ...this.#outcome, overShare: this.#overSteps / this.#sessionSteps }
  }

  #end(step: number): void {
    for (const { node, load } of this.#endings[step] ?? []) {
      node.load -= load
      node.held--
    }
  }

  /** Applies the transitions that need no action: nodes become ready, and drained nodes that are empty disappear. */
  #applyTransitions(step: number): void {
    for (const node of this.#nodes.values()) {
      if (node.status === 'launching' && node.readyAt <= step) node.status = 'running'
      const isGone =
        (node.status === 'canceled' && node.readyAt <= step) ||
        (node.status === 'waiting-idle-to-terminate' && node.held === 0)
      if (isGone) this.#nodes.delete(node.id)
    }
  }

  #place({ end, load }: SimulatedSession): void {
    let best: SimulatedNode | undefined
    for (const node of this.#nodes.values())
      if (node.status === 'running' && (!best || node.load < best.load)) best = node
    if (!best) {
      this.#outcome.cut++
      return
    }
    best.load += load
    best.held++
    ;(this.#endings[end] ??= []).push({ node: best, load })
  }

  #count(): void {
    this.#outcome.nodeHours += (this.#nodes.size * STEP_MS) / 3_600_000
    for (const { load, held } of this.#nodes.values()) {
      this.#sessionSteps += held
      if (load > OVERLOADED) this.#overSteps += held
    }
  }

  /** The cluster as heartbeats report it. */
  #observe(step: number): Cluster {
    const nodes = [...this.#nodes.values()].map((node) => ({
      ...node,
      load: Math.min(100, Math.max(0, node.load * (1 + MEASUREMENT_NOISE * this.#random.normal()))),
    }))
    return { now: step * STEP_MS, nodes }
  }

  #apply(action: ScalingAction, step: number): void {
    this.#outcome.changes++
    if (action.kind === 'launch') return this.#launch(step)
    const node = this.#nodes.get(action.node.id)
    if (!node) throw new Error(`the policy returned an unknown node: ${action.node.id}`)
    if (action.kind === 'terminate') {
      this.#outcome.cut += node.held
      this.#nodes.delete(node.id)
    } else node.status = STATUS_AFTER[action.kind]
  }

  #launch(step: number): void {
    const id = `n${++this.#launched}`
    const readyAt = step + this.limits.bootMs / STEP_MS
    const launchingTime = step * STEP_MS
    const defaults = { environmentId: '', ip: '', canWake: true, load: 0, held: 0 }
    this.#nodes.set(id, { id, ...defaults, status: 'launching', launchingTime, readyAt })
  }
}

const STATUS_AFTER = {
  wake: 'running',
  relaunch: 'launching',
  cancel: 'canceled',
  drain: 'waiting-idle-to-terminate',
} as const

/** Lower bound of the node-hours: at each moment the minimum number of nodes that keeps the average under the limit. */
export function lowerBound(sessions: readonly SimulatedSession[], { minNodes, maxLoad }: Limits): number {
  const changes = new Float64Array(STEPS + 1)
  const add = (step: number, load: number) => {
    changes[step] = (changes[step] ?? 0) + load
  }
  for (const { start, end, load } of sessions) {
    add(start, load)
    if (end <= STEPS) add(end, -load)
  }
  let total = 0
  let hours = 0
  for (const change of changes.subarray(0, STEPS)) {
    total += change
    hours += (Math.max(minNodes, Math.ceil(total / maxLoad)) * STEP_MS) / 3_600_000
  }
  return hours
}
