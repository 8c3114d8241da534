import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { summarise } from '../figures/statistics.js'
import { spread } from '../figures/table.js'
import { Helper } from '../helper/helper.js'
import { PARTICIPANTS } from '../participants/api.js'
import { BARE_SERVER } from './api.js'
import { type Clients, Room, type Run, type Server, type Shape } from './room.js'
import { sessionTokens } from './session-tokens.js'

/** Below the default limits of a media node, so that it forwards everything that bare mediasoup forwards. */
const SHAPE: Shape = { publishers: 3, subscribers: 30, kbps: 900 }
const PLANS = { quick: { pairs: 8, seconds: 3 }, full: { pairs: 16, seconds: 6 } }
/** The initial value of the media node as well. */
const INITIAL_OUTGOING_BPS = 1_000_000
const AIM = 1.05
/** Publishers that are delayed by more than this skip frames. */
const SKIPS_FRAMES_MS = 200
/** One worker on each side, so that both route a whole room in one process. */
const ONE_WORKER = { MEDIA_NODE_WORKERS: '1' }

/** Compares a media node under our control plane with bare mediasoup and the same routing. */
export const forwarding: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 1, nodeEnv: ONE_WORKER })
    cleanUp.defer(() => stack.stop())
    const participants = new URL('../participants/participants.js', import.meta.url)
    const [bare, senders, receivers] = await Promise.all([
      Helper.start(BARE_SERVER, new URL('bare-server.js', import.meta.url)),
      Helper.start(PARTICIPANTS, participants),
      Helper.start(PARTICIPANTS, participants),
    ])
    for (const helper of [bare, senders, receivers]) cleanUp.defer(() => helper.stop())
    const servers = { ours: mediaNode(stack), reference: await bareMediasoup(bare) }
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure(servers, { senders, receivers: [receivers] }, options)
  },
}

function mediaNode(stack: Stack): Server {
  const [node] = stack.nodes
  if (!node) throw new Error('the stack has no media node')
  return {
    name: 'media node',
    pid: node.pid,
    ...(stack.masters[0] && { masterPid: stack.masters[0].pid }),
    tokens: (count) => sessionTokens(stack, count),
  }
}

async function bareMediasoup(bare: Helper<typeof BARE_SERVER>): Promise<Server> {
  const { token } = await bare.call('start', { initialOutgoingBitrate: INITIAL_OUTGOING_BPS })
  return {
    name: 'bare mediasoup',
    pid: bare.pid,
    tokens: async (count) => Array.from({ length: count }, () => token),
  }
}

async function measure(
  servers: { ours: Server; reference: Server },
  clients: Clients,
  { quick, log }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const talk = async (server: Server): Promise<() => Promise<Run>> => {
    const room = await Room.open(server, clients, SHAPE)
    return async () => {
      const run = await room.talk(seconds)
      log(`${server.name.padEnd(14)} ${describe(run)}`)
      return run
    }
  }
  const ours = await talk(servers.ours)
  const reference = await talk(servers.reference)
  for (const warmUp of [ours, reference]) await warmUp()
  const results = await interleave(pairs, { ours, reference, isValid })
  return {
    names: { ours: servers.ours.name, reference: servers.reference.name },
    settings: { pairs, seconds, ...SHAPE },
    ...figures(results),
  }
}

/** With lost packets or delayed publishers the two servers did not do the same work. */
const isValid = ({ lost, lagMs }: Run): boolean => lost === 0 && lagMs < SKIPS_FRAMES_MS

const describe = ({ perMillion, packetsPerSecond, lost, lagMs }: Run): string =>
  `${perMillion.toFixed(2)} CPU s per million packets at ${packetsPerSecond.toFixed(0)}/s, ` +
  `${lost} lost, participants at most ${lagMs.toFixed(0)} ms late`

function figures({ ours, reference, dropped }: Pairs<Run>): Pick<BenchmarkResult, 'comparisons' | 'notes'> {
  const both = (of: (run: Run) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const own = (runs: readonly Run[]): string => spread(summarise(runs.map((run) => run.ownMsPerSecond)))
  const masters = spread(summarise(ours.map((run) => run.masterMsPerSecond)))
  return {
    comparisons: [
      { figure: 'CPU s per million packets forwarded', ...both((run) => run.perMillion), aim: { most: AIM } },
      { figure: "of that the worker's", ...both((run) => run.workersPerMillion) },
      { figure: 'packets forwarded per second', ...both((run) => run.packetsPerSecond) },
      { figure: 'packets in, for each out', ...both((run) => run.incomingShare) },
      { figure: 'datagrams out, for each packet out', ...both((run) => run.datagramShare) },
    ],
    notes: [
      `${dropped} pairs of runs were repeated: packets were lost or participants were delayed`,
      `CPU beside the worker, ms per second: media node ${own(ours)}, master ${masters}; bare mediasoup ${own(reference)}`,
    ],
  }
}
