import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { cpuSeconds, cpuSecondsOfTrees } from '../figures/cpu.js'
import { interleave } from '../figures/interleave.js'
import { median, quantile } from '../figures/statistics.js'
import { Helper } from '../helper/helper.js'
import { sessionTokens } from '../forwarding/session-tokens.js'
import { CLIENTS } from './api.js'

/** Fewer than the sockets that one address may open before they have joined. */
const CLIENTS_AT_ONCE = 240
const PLANS = { quick: { pairs: 3 }, full: { pairs: 8 } }
/** At once, a client may cost at most this part of what it costs alone. */
const CPU_AIM = 0.4
/** The limit for a session that is created meanwhile, ms. */
const CREATE_LIMIT = 300

interface Run {
  masterMs: number
  databaseMs: number
  joinMs: number
  signalMs: number
  leaveMs: number
  /** The time that each session took to be created while clients came and went at once, ms. */
  creations: number[]
}

interface Sides {
  stack: Stack
  clients: Helper<typeof CLIENTS>
}

/** 240 people join a session, send a signal to all and leave, with call records: all at once, and one after another. */
export const crowd: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 1, ownPostgres: true, masterEnv: { SERVICE_CDR: 'true' } })
    cleanUp.defer(() => stack.stop())
    const clients = await Helper.start(CLIENTS, new URL('clients.js', import.meta.url))
    cleanUp.defer(() => clients.stop())
    return await measure({ stack, clients }, options)
  },
}

async function measure(sides: Sides, { quick, log }: BenchmarkOptions): Promise<BenchmarkResult> {
  const { pairs } = quick ? PLANS.quick : PLANS.full
  for (const atOnce of [true, false]) await visit(sides, atOnce)
  const logged = (name: string, run: Run): Run => {
    const { joinMs, signalMs, leaveMs, creations } = run
    const steps = [joinMs, signalMs, leaveMs].map((ms) => `${ms.toFixed(0)} ms`).join(', ')
    const worst =
      creations.length > 0 ? `; a session is created in at most ${Math.max(...creations).toFixed(0)} ms` : ''
    log(`${name}: join, signal, leave in ${steps}${worst}`)
    return run
  }
  const { ours, reference } = await interleave(pairs, {
    ours: async () => logged('at once   ', await visit(sides, true)),
    reference: async () => logged('one by one', await visit(sides, false)),
  })
  const both = (of: (run: Run) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const p99 = quantile(
    ours.flatMap(({ creations }) => creations),
    0.99,
  )
  const rate = (of: (run: Run) => number): string => ((CLIENTS_AT_ONCE / median(ours.map(of))) * 1_000).toFixed(0)
  return {
    names: { ours: 'at once', reference: 'one by one' },
    settings: { pairs, clients: CLIENTS_AT_ONCE },
    comparisons: [
      { figure: "master's CPU, ms per client", ...both(({ masterMs }) => masterMs), aim: { most: CPU_AIM } },
      { figure: "database's CPU, ms per client", ...both(({ databaseMs }) => databaseMs), aim: { most: CPU_AIM } },
    ],
    notes: [
      `a session that is created meanwhile takes ${p99.toFixed(0)} ms in the 99th percentile (limit ${CREATE_LIMIT}: ${p99 <= CREATE_LIMIT ? 'met' : 'missed'})`,
      `a second takes ${rate(({ joinMs }) => joinMs)} joins, ${rate(({ signalMs }) => signalMs)} signals and ${rate(({ leaveMs }) => leaveMs)} departures`,
    ],
  }
}

async function visit({ stack, clients }: Sides, atOnce: boolean): Promise<Run> {
  const [master, database] = [stack.masters[0], stack.postgres.server]
  if (!master || !database) throw new Error('the stack has no master, or no database of its own')
  const tokens = await sessionTokens(stack, CLIENTS_AT_ONCE)
  const cpu = (): [number, number] => [cpuSeconds(master.pid), cpuSecondsOfTrees([database.pid])]
  const before = cpu()
  // One by one takes longer: with sessions created all the time, it would cost more for that reason.
  const state = { isOver: !atOnce }
  const visiting = clients.call('visit', { tokens, atOnce }).finally(() => (state.isOver = true))
  const creations: number[] = []
  while (!state.isOver) {
    const startedAt = performance.now()
    await stack.api.createSession()
    creations.push(performance.now() - startedAt)
  }
  const steps = await visiting
  const [masterMs, databaseMs] = cpu().map((seconds, at) => ((seconds - (before[at] ?? 0)) * 1_000) / CLIENTS_AT_ONCE)
  return { ...steps, creations, masterMs: masterMs ?? 0, databaseMs: databaseMs ?? 0 }
}
