import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import type { Comparison } from '../figures/comparison.js'
import { cpuSeconds, cpuSecondsOfTrees } from '../figures/cpu.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { Helper } from '../helper/helper.js'
import { CONSTANT_SERVER, LOAD, type Mix } from './api.js'

const CONNECTIONS = 50
const WARM_UP_S = 5
const PLANS = { quick: { pairs: 5, seconds: 4 }, full: { pairs: 9, seconds: 10 } }
const AIMS = { creation: 0.5, life: 0.15 } satisfies Record<Mix, number>

interface Run {
  callsPerSecond: number
  serverMicroseconds: number
  databaseMicroseconds: number
}

interface Sides {
  stack: Stack
  constant: Helper<typeof CONSTANT_SERVER>
  load: Helper<typeof LOAD>
  constantUrl: string
}

/** Compares the calls about a session and its connection with the same HTTP stack answering a constant. */
export const rest: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 0 })
    cleanUp.defer(() => stack.stop())
    const [constant, load] = await Promise.all([
      Helper.start(CONSTANT_SERVER, new URL('constant-server.js', import.meta.url)),
      Helper.start(LOAD, new URL('load.js', import.meta.url)),
    ])
    for (const helper of [constant, load]) cleanUp.defer(() => helper.stop())
    const session = await stack.api.createSession({})
    const connection = await stack.api.createConnection(session.id, { data: '{"user":"Ada"}' })
    const { url: constantUrl } = await constant.call('listen', { secret: stack.secret, session, connection })
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure({ stack, constant, load, constantUrl }, options)
  },
}

async function measure(sides: Sides, { quick, log }: BenchmarkOptions): Promise<BenchmarkResult> {
  const { stack, constant, constantUrl } = sides
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const [master] = stack.masters
  const databasePid = stack.postgres.server?.pid
  if (!master) throw new Error('the stack has no master')
  const load = (server: Server) => (mix: Mix, duration: number) => loadOn(sides, server, mix, duration)
  const ours = load({ url: stack.masterUrl, pid: master.pid, databasePid })
  const reference = load({ url: constantUrl, pid: constant.pid })
  const compared = async (mix: Mix) => {
    for (const warmUp of [ours, reference]) await warmUp(mix, WARM_UP_S)
    return interleave(pairs, {
      ours: async () => logged(await ours(mix, seconds), `${mix}: master  `, log),
      reference: async () => logged(await reference(mix, seconds), `${mix}: constant`, log),
    })
  }
  const [creation, life] = [await compared('creation'), await compared('life')]
  const durable = await stack.postgres.query(
    `SELECT current_setting('fsync') AS fsync, current_setting('synchronous_commit') AS commit`,
  )
  return {
    names: { ours: 'master', reference: 'constant' },
    settings: { pairs, seconds, connections: CONNECTIONS, ...durable[0] },
    comparisons: [...comparisons('creation', creation), ...comparisons('life', life)],
    notes: [databaseNote('creation', creation), databaseNote('life', life)],
  }
}

interface Server {
  url: string
  pid: number
  databasePid?: number | undefined
}

async function loadOn({ load, stack }: Sides, server: Server, mix: Mix, seconds: number): Promise<Run> {
  const read = () => ({
    server: cpuSeconds(server.pid),
    database: server.databasePid === undefined ? 0 : cpuSecondsOfTrees([server.databasePid]),
  })
  const before = read()
  const { url } = server
  const done = await load.call('run', { url, secret: stack.secret, connections: CONNECTIONS, seconds, mix })
  const after = read()
  const perCall = (cpu: number): number => (cpu / done.calls) * 1e6
  return {
    callsPerSecond: done.calls / done.seconds,
    serverMicroseconds: perCall(after.server - before.server),
    databaseMicroseconds: perCall(after.database - before.database),
  }
}

function logged(run: Run, name: string, log: (line: string) => void): Run {
  log(`${name} ${run.callsPerSecond.toFixed(0)} calls/s, ${run.serverMicroseconds.toFixed(0)} µs of CPU per call`)
  return run
}

function comparisons(mix: Mix, { ours, reference }: Pairs<Run>): Comparison[] {
  const both = (of: (run: Run) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  return [
    { figure: `${mix}: calls per second`, ...both((run) => run.callsPerSecond), aim: { least: AIMS[mix] } },
    { figure: `${mix}: server's CPU, µs per call`, ...both((run) => run.serverMicroseconds) },
  ]
}

function databaseNote(mix: Mix, { ours }: Pairs<Run>): string {
  const used = ours.map((run) => run.databaseMicroseconds)
  return `${mix}: Postgres used ${Math.min(...used).toFixed(0)} to ${Math.max(...used).toFixed(0)} µs of CPU per call`
}
