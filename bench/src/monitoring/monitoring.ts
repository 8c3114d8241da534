import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { cpuSeconds } from '../figures/cpu.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { type Clients, Room, type Run, type Server, type Shape } from '../forwarding/room.js'
import { sessionTokens } from '../forwarding/session-tokens.js'
import { Helper } from '../helper/helper.js'
import { PARTICIPANTS } from '../participants/api.js'

/** A session of 50. */
const SHAPE: Shape = { publishers: 5, subscribers: 45, kbps: 300 }
const PLANS = { quick: { pairs: 4, seconds: 5 }, full: { pairs: 12, seconds: 10 } }
const NODE_AIM = 1.02
const MASTER_AIM = 1.03
/** Participants that join and leave for one figure, one after the other. */
const JOINS = 20
/** Spans are sent, and records are processed, within this time. */
const SETTLE_MS = 6_000
/** Interval at which Prometheus usually reads the metrics. */
const SCRAPE_MS = 15_000

/** Everything that this benchmark measures is switched off. */
const OFF = { SERVICE_PRO_STATS_WEBRTC_INTERVAL: '0', SERVICE_PRO_STATS_MONITORING_INTERVAL: '0' }
/** The default intervals, with the features that are off by default. */
const ON = {
  SERVICE_PRO_NETWORK_QUALITY: 'true',
  SERVICE_PRO_NETWORK_QUALITY_INTERVAL: '5',
  SERVICE_HISTORY: 'true',
}

interface Side {
  stack: Stack
  server: Server
}

/** The cost of the call. */
interface Cost extends Run {
  /** CPU of the media node and its worker, ms per second. */
  nodePerSecond: number
  /** CPU of the master, ms per second. */
  masterPerSecond: number
}

/** Compares a service that measures, traces and remembers everything with the same service without that. */
export const monitoring: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const collector = await startCollector()
    cleanUp.defer(() => collector.stop())
    const tracing = { SERVICE_TRACING_ENDPOINT: collector.url }
    const open = async (name: string, masterEnv: Record<string, string>, env = {}): Promise<Side> => {
      const stack = await startStack({ nodes: 1, masterEnv, env, nodeEnv: { MEDIA_NODE_WORKERS: '1' } })
      cleanUp.defer(() => stack.stop())
      return { stack, server: serverOf(name, stack) }
    }
    const ours = await open('everything on', ON, tracing)
    const reference = await open('everything off', OFF)
    const stopReading = readMetrics(ours.stack)
    cleanUp.defer(async () => stopReading())
    const participants = new URL('../participants/participants.js', import.meta.url)
    const start = (): Promise<Helper<typeof PARTICIPANTS>> => Helper.start(PARTICIPANTS, participants)
    const [senders, receivers] = await Promise.all([start(), start()])
    for (const helper of [senders, receivers]) cleanUp.defer(() => helper.stop())
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure({ ours, reference }, { senders, receivers: [receivers] }, options)
  },
}

/** Accepts spans and discards them. */
async function startCollector(): Promise<{ url: string; stop: () => Promise<void> }> {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'))
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  const stop = (): Promise<void> =>
    new Promise((done) => {
      server.close(() => done())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${port}`, stop }
}

/** Reads the metrics of all processes as Prometheus does. Returns a function that ends it. */
function readMetrics({ masters, nodes }: Stack): () => void {
  const read = (): void => {
    for (const { opsUrl } of [...masters, ...nodes])
      void fetch(`${opsUrl}/metrics`)
        .then((answer) => answer.arrayBuffer())
        .catch(() => undefined)
  }
  const timer = setInterval(read, SCRAPE_MS)
  return () => clearInterval(timer)
}

function serverOf(name: string, stack: Stack): Server {
  const [node] = stack.nodes
  if (!node) throw new Error('the stack has no media node')
  return {
    name,
    pid: node.pid,
    tokens: (count) => sessionTokens(stack, count),
  }
}

async function measure(
  sides: { ours: Side; reference: Side },
  clients: Clients,
  { quick, log }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const prepare = async ({ stack, server }: Side): Promise<() => Promise<Cost>> => {
    const room = await Room.open(server, clients, SHAPE)
    return async () => {
      const cost = await talk(stack, room, seconds)
      log(`${server.name.padEnd(14)} ${describe(cost)}`)
      return cost
    }
  }
  const ours = await prepare(sides.ours)
  const reference = await prepare(sides.reference)
  for (const warmUp of [ours, reference]) await warmUp()
  const calls = await interleave(pairs, { ours, reference, isValid: ({ lost }) => lost === 0 })
  // Afterwards: spans and records of joins are processed seconds later.
  const joins = await interleave(pairs, {
    ours: () => joinCost(sides.ours.stack),
    reference: () => joinCost(sides.reference.stack),
  })
  return {
    names: { ours: sides.ours.server.name, reference: sides.reference.server.name },
    settings: { pairs, seconds, ...SHAPE, joins: JOINS },
    ...figures(calls, joins),
  }
}

function masterOf({ masters }: Stack): number {
  const [master] = masters
  if (!master) throw new Error('the stack has no master')
  return master.pid
}

async function talk(stack: Stack, room: Room, seconds: number): Promise<Cost> {
  const master = masterOf(stack)
  const [began, cpu] = [performance.now(), cpuSeconds(master)]
  const run = await room.talk(seconds)
  return {
    ...run,
    nodePerSecond: (run.perMillion * run.packetsPerSecond) / 1e3,
    masterPerSecond: ((cpuSeconds(master) - cpu) / (performance.now() - began)) * 1e6,
  }
}

/** CPU of the master, ms per participant that joins and leaves. */
async function joinCost(stack: Stack): Promise<number> {
  const master = masterOf(stack)
  const { id } = await stack.api.createSession()
  // The session ends with its last participant.
  const resident = await stack.join(id)
  const cpu = cpuSeconds(master)
  for (let count = 0; count < JOINS; count++) {
    const client = await stack.join(id)
    await client.request('leave', {})
    await client.close()
  }
  await delay(SETTLE_MS)
  const used = cpuSeconds(master) - cpu
  await resident.close()
  return (used * 1e3) / JOINS
}

const describe = ({ nodePerSecond, masterPerSecond, packetsPerSecond, lost }: Cost): string =>
  `node ${nodePerSecond.toFixed(0)} ms/s at ${packetsPerSecond.toFixed(0)} packets/s, master ` +
  `${masterPerSecond.toFixed(1)} ms/s, ${lost} lost`

function figures(
  { ours, reference, dropped }: Pairs<Cost>,
  joins: Pairs<number>,
): Pick<BenchmarkResult, 'comparisons' | 'notes'> {
  const both = (of: (cost: Cost) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  return {
    comparisons: [
      { figure: 'media node, CPU s per million packets', ...both((cost) => cost.perMillion), aim: { most: NODE_AIM } },
      { figure: "of that the worker's", ...both((cost) => cost.workersPerMillion) },
      { figure: 'media node, CPU ms per second', ...both((cost) => cost.nodePerSecond) },
      {
        figure: 'master, CPU ms per second of the call',
        ...both((cost) => cost.masterPerSecond),
        aim: { most: MASTER_AIM },
      },
      { figure: 'master, CPU ms per join and leave', ours: joins.ours, reference: joins.reference },
    ],
    notes: [`${dropped} pairs of calls were repeated because packets were lost`],
  }
}
