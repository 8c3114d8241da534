import { type Stack, startStack } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { type Clients, Room, type Run, type Server, type Shape } from '../forwarding/room.js'
import { sessionTokens } from '../forwarding/session-tokens.js'
import { Helper } from '../helper/helper.js'
import { PARTICIPANTS } from '../participants/api.js'

/** 200 participants. With a low bit rate packets dominate the cost, and the participants keep up on two cores. */
const SHAPE: Shape = { publishers: 2, subscribers: 198, kbps: 80, fps: 10 }
const PLANS = { quick: { pairs: 4, seconds: 3 }, full: { pairs: 10, seconds: 6 } }
/** The pipe adds little CPU compared with the load that it takes off the first worker. */
const CPU_AIM = 1.1
const BUSIEST_AIM = 0.6
/** Processes that share the subscribers. */
const SUBSCRIBER_PROCESSES = 2
/** More rounds than any key frame takes to arrive; a track that is still missing then never arrives. */
const MAX_WARM_UP_ROUNDS = 5
const NODES = {
  spread: { name: 'two workers', env: { MEDIA_NODE_ID: 'media_spread', MEDIA_NODE_WORKERS: '2' } },
  single: { name: 'one worker', env: { MEDIA_NODE_ID: 'media_single', MEDIA_NODE_WORKERS: '1' } },
}

/** Compares a session of 200 on a node with two workers, joined by pipes, with the same session on one worker. */
export const largeSession: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({ nodes: 0 })
    cleanUp.defer(() => stack.stop())
    const servers = { ours: await node(stack, NODES.spread), reference: await node(stack, NODES.single) }
    const participants = new URL('../participants/participants.js', import.meta.url)
    const start = (): Promise<Helper<typeof PARTICIPANTS>> => Helper.start(PARTICIPANTS, participants)
    const [senders, ...receivers] = await Promise.all([start(), ...Array.from({ length: SUBSCRIBER_PROCESSES }, start)])
    for (const helper of [senders, ...receivers]) cleanUp.defer(() => helper.stop())
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure(servers, { senders, receivers }, options)
  },
}

async function node(stack: Stack, { name, env }: (typeof NODES)['spread']): Promise<Server> {
  const { pid } = await stack.addNode(env)
  return {
    name,
    pid,
    tokens: (count) => sessionTokens(stack, count, { mediaNode: { id: env.MEDIA_NODE_ID } }),
  }
}

async function measure(
  servers: { ours: Server; reference: Server },
  clients: Clients,
  { quick, log }: BenchmarkOptions,
): Promise<BenchmarkResult> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const fill = async (server: Server): Promise<() => Promise<Run>> => {
    const began = performance.now()
    const room = await Room.open(server, clients, SHAPE)
    log(`${server.name}: all have joined after ${((performance.now() - began) / 1000).toFixed(0)} s`)
    const talk = async (): Promise<Run> => {
      const run = await room.talk(seconds)
      log(`${server.name.padEnd(12)} ${describe(run)}`)
      return run
    }
    await untilAllReceive(talk, server)
    return talk
  }
  const ours = await fill(servers.ours)
  const reference = await fill(servers.reference)
  const results = await interleave(pairs, { ours, reference })
  return {
    names: { ours: servers.ours.name, reference: servers.reference.name },
    settings: { pairs, seconds, ...SHAPE },
    ...figures(results),
  }
}

/** Repeats until no track is missing; this is also the warm-up. */
async function untilAllReceive(talk: () => Promise<Run>, { name }: Server): Promise<void> {
  for (let round = 1; ; round++) {
    const { missing } = await talk()
    if (missing === 0) return
    if (round === MAX_WARM_UP_ROUNDS) throw new Error(`${name}: ${missing} tracks never arrived`)
  }
}

const describe = ({ perMillion, busiestWorker, packetsPerSecond, lost, missing, lagMs }: Run): string =>
  `${perMillion.toFixed(2)} CPU s per million packets at ${packetsPerSecond.toFixed(0)}/s, busiest worker ` +
  `${(busiestWorker * 100).toFixed(0)} %, ${lost} lost, ${missing} tracks missing, ` +
  `participants at most ${lagMs.toFixed(0)} ms late`

function figures({ ours, reference }: Pairs<Run>): Pick<BenchmarkResult, 'comparisons' | 'notes'> {
  const both = (of: (run: Run) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const lost = (runs: readonly Run[]): number => runs.reduce((sum, run) => sum + run.lost, 0)
  return {
    comparisons: [
      { figure: 'CPU s per million packets forwarded', ...both((run) => run.perMillion), aim: { most: CPU_AIM } },
      { figure: "busiest worker's CPU, %", ...both((run) => run.busiestWorker * 100), aim: { most: BUSIEST_AIM } },
      { figure: 'packets forwarded per second', ...both((run) => run.packetsPerSecond) },
    ],
    notes: [
      'every subscriber received every track of both publishers on both sides',
      `packets lost: ${lost(ours)} and ${lost(reference)}`,
    ],
  }
}
