import { setTimeout as delay } from 'node:timers/promises'
import { type Stack, startStack, until } from '@session-service/testing'
import type { Benchmark, BenchmarkOptions, BenchmarkResult } from '../benchmark/benchmark.js'
import { cpuSeconds, cpuSecondsOfTree } from '../figures/cpu.js'
import { interleave, type Pairs } from '../figures/interleave.js'
import { sessionTokens } from '../forwarding/session-tokens.js'
import { Helper } from '../helper/helper.js'
import { ATTENDEES, type ClientKind } from './api.js'

const SHAPE = { participants: 30, publishers: 4, kbps: 300 }
const PLANS = { quick: { pairs: 3, seconds: 5 }, full: { pairs: 8, seconds: 10 } }
const PREFIX = 'legacy'
/** The service refuses joins of version 2 after this time, before their library gives up. */
const JOIN_LIMIT_MS = 8_000
/** Time from the first packet until the load is steady. */
const SETTLE_MS = 2_000
const MEDIA_TIMEOUT_MS = 30_000
const NAMES: Record<ClientKind, string> = { v2: 'version 2', native: 'native' }

/** CPU seconds of the media node with its worker, and of the master. */
interface Cpu {
  node: number
  master: number
}

/** One meeting. */
interface Meeting {
  entering: Cpu
  /** For a second of the call. */
  call: Cpu
  nodePerMillion: number
  packetsPerSecond: number
  lastJoinMs: number
  lastSubscribedMs: number
  /** Participants whose sockets are open at the end. */
  open: number
  lost: number
}

type Attendees = Helper<typeof ATTENDEES>

/** Compares a meeting of clients of version 2 with the same meeting of native ones, at the same service. */
export const v2: Benchmark = {
  run: async (options) => {
    await using cleanUp = new AsyncDisposableStack()
    const stack = await startStack({
      nodes: 1,
      masterEnv: { SERVICE_COMPAT_PREFIX: PREFIX },
      nodeEnv: { MEDIA_NODE_WORKERS: '1' },
    })
    cleanUp.defer(() => stack.stop())
    const attendees = await Helper.start(ATTENDEES, new URL('./attendees.js', import.meta.url))
    cleanUp.defer(() => attendees.stop())
    // Awaited: otherwise the clean-up would run before the measurement.
    return await measure(stack, attendees, options)
  },
}

async function measure(stack: Stack, attendees: Attendees, { quick, log }: BenchmarkOptions): Promise<BenchmarkResult> {
  const { pairs, seconds } = quick ? PLANS.quick : PLANS.full
  const side = (kind: ClientKind) => async (): Promise<Meeting> => {
    const meeting = await meet(stack, attendees, { kind, seconds })
    log(`${NAMES[kind].padEnd(9)} ${describe(meeting)}`)
    return meeting
  }
  const [ours, reference] = [side('v2'), side('native')]
  for (const warmUp of [ours, reference]) await warmUp()
  const meetings = await interleave(pairs, { ours, reference })
  return {
    names: { ours: NAMES.v2, reference: NAMES.native },
    settings: { pairs, seconds, ...SHAPE },
    ...figures(meetings),
  }
}

function cpuOf({ masters, nodes }: Stack): Cpu {
  const [[master], [node]] = [masters, nodes]
  if (!master || !node) throw new Error('the stack has no master or no media node')
  return { node: cpuSecondsOfTree(node.pid), master: cpuSeconds(master.pid) }
}

const since = (before: Cpu, after: Cpu): Cpu => ({
  node: after.node - before.node,
  master: after.master - before.master,
})

async function meet(
  stack: Stack,
  attendees: Attendees,
  { kind, seconds }: { kind: ClientKind; seconds: number },
): Promise<Meeting> {
  const { participants, publishers: count, kbps } = SHAPE
  const tokens = await sessionTokens(stack, participants)
  const began = cpuOf(stack)
  const joined = await attendees.call('join', { kind, prefix: PREFIX, tokens })
  await attendees.call('publish', { count, kbps })
  const subscribed = await attendees.call('subscribe', {})
  const entering = since(began, cpuOf(stack))
  await attendees.call('talk', { active: true })
  await until('all receive all', async () => (await attendees.call('count', {})).missing === 0, MEDIA_TIMEOUT_MS)
  await delay(SETTLE_MS)
  const [cpu, before, startedAt] = [cpuOf(stack), await attendees.call('count', {}), performance.now()]
  await delay(seconds * 1_000)
  const [used, after] = [since(cpu, cpuOf(stack)), await attendees.call('count', {})]
  const elapsed = (performance.now() - startedAt) / 1_000
  await attendees.call('leave', {})
  const packets = after.packets - before.packets
  return {
    entering,
    call: { node: used.node / elapsed, master: used.master / elapsed },
    nodePerMillion: (used.node / packets) * 1e6,
    packetsPerSecond: packets / elapsed,
    lastJoinMs: Math.max(...joined.ms),
    lastSubscribedMs: Math.max(...subscribed.ms),
    open: after.open,
    lost: after.lost - before.lost,
  }
}

const describe = ({ entering, call, packetsPerSecond, lastJoinMs, lost }: Meeting): string =>
  `entering ${entering.node.toFixed(2)} s node, ${entering.master.toFixed(2)} s master; last join ` +
  `${lastJoinMs.toFixed(0)} ms; call ${(call.node * 1e3).toFixed(0)} ms/s node, ${(call.master * 1e3).toFixed(1)} ` +
  `ms/s master at ${packetsPerSecond.toFixed(0)} packets/s, ${lost} lost`

function figures({ ours, reference }: Pairs<Meeting>): Pick<BenchmarkResult, 'comparisons' | 'notes'> {
  const both = (of: (meeting: Meeting) => number) => ({ ours: ours.map(of), reference: reference.map(of) })
  const [lastJoin, fewestOpen] = [
    Math.max(...ours.map(({ lastJoinMs }) => lastJoinMs)),
    Math.min(...ours.map(({ open }) => open)),
  ]
  const isMet = lastJoin <= JOIN_LIMIT_MS && fewestOpen === SHAPE.participants
  const lost = (of: readonly Meeting[]): number => of.reduce((sum, meeting) => sum + meeting.lost, 0)
  return {
    comparisons: [
      { figure: 'entering: CPU s of media node and worker', ...both(({ entering }) => entering.node) },
      { figure: 'entering: CPU s of the master', ...both(({ entering }) => entering.master) },
      { figure: 'last of all joins at once, ms', ...both(({ lastJoinMs }) => lastJoinMs) },
      { figure: 'last has all subscriptions, ms', ...both(({ lastSubscribedMs }) => lastSubscribedMs) },
      { figure: 'call: media node and worker, CPU ms per s', ...both(({ call }) => call.node * 1e3) },
      { figure: 'call: CPU s per million packets forwarded', ...both(({ nodePerMillion }) => nodePerMillion) },
      { figure: 'call: master, CPU ms per s', ...both(({ call }) => call.master * 1e3) },
      { figure: 'packets forwarded per second', ...both(({ packetsPerSecond }) => packetsPerSecond) },
    ],
    notes: [
      `version 2: the slowest join took ${lastJoin.toFixed(0)} ms, and at least ${fewestOpen} of ` +
        `${SHAPE.participants} sockets stayed open (limit ${JOIN_LIMIT_MS} ms and all: ${isMet ? 'met' : 'missed'})`,
      `packets lost in all calls: ${lost(ours)} and ${lost(reference)}`,
    ],
  }
}
