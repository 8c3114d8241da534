import type { Cluster, Limits, ScaledNode, ScalingAction } from '@session-service/master/autoscaling'
import { type SimulatedSession, STEP_MS, STEPS } from './day.js'
import { Random } from './random.js'

/** Decides for one cluster, from one evaluation to the next. */
export type Policy = (cluster: Cluster) => readonly ScalingAction[]

export interface Outcome {
  nodeHours: number
  /** Of the time of all sessions, the share on a node that is over its limit. */
  overShare: number
  /** Sessions that found no node, or whose node was ended under them. */
  cut: number
  /** Nodes launched, drained, ended, woken. */
  changes: number
}

/** A node with more than this is overloaded, percent. */
export const OVERLOADED = 90
/** What is measured strays from what is by about this share. */
const MEASURED_SPREAD = 0.03

type SimulatedNode = Omit<ScaledNode, 'load' | 'held' | 'status'> & {
  load: number
  held: number
  status: ScaledNode['status']
  readyAt: number
}

/** One day of a cluster under a policy. Sessions go to the least loaded node and stay there. */
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
      this.#settle(step)
      for (let one = this.sessions[next]; one && one.start === step; one = this.sessions[++next]) this.#place(one)
      this.#count()
      for (const action of this.policy(this.#seen(step))) this.#carryOut(action, step)
    }
    return { ...this.#outcome, overShare: this.#overSteps / this.#sessionSteps }
  }

  #end(step: number): void {
    for (const { node, load } of this.#endings[step] ?? []) {
      node.load -= load
      node.held--
    }
  }

  /** What happens by itself: nodes come up, and empty ones that were waiting for that go. */
  #settle(step: number): void {
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

  /** As heartbeats would show it. */
  #seen(step: number): Cluster {
    const nodes = [...this.#nodes.values()].map((node) => ({
      ...node,
      load: Math.min(100, Math.max(0, node.load * (1 + MEASURED_SPREAD * this.#random.normal()))),
    }))
    return { now: step * STEP_MS, nodes }
  }

  #carryOut(action: ScalingAction, step: number): void {
    this.#outcome.changes++
    if (action.kind === 'launch') return this.#launch(step)
    const node = this.#nodes.get(action.node.id)
    if (!node) throw new Error(`the policy names a node that is not there: ${action.node.id}`)
    if (action.kind === 'terminate') {
      this.#outcome.cut += node.held
      this.#nodes.delete(node.id)
    } else node.status = STATUS_AFTER[action.kind]
  }

  #launch(step: number): void {
    const id = `n${++this.#launched}`
    const readyAt = step + this.limits.bootMs / STEP_MS
    const launchingTime = step * STEP_MS
    const given = { environmentId: '', ip: '', canWake: true, load: 0, held: 0 }
    this.#nodes.set(id, { id, ...given, status: 'launching', launchingTime, readyAt })
  }
}

const STATUS_AFTER = {
  wake: 'running',
  relaunch: 'launching',
  cancel: 'canceled',
  drain: 'waiting-idle-to-terminate',
} as const

/** Nobody does with less: at each moment just as many nodes as keep the average under the limit. */
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
