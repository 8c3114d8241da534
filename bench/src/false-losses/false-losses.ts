import { type ChildProcess, spawn } from 'node:child_process'
import { availableParallelism } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { SyntheticParticipant } from '@session-service/synthetic-participant'
import {
  type AppProcess,
  EventSink,
  freeze,
  type Stack,
  startStack,
  thaw,
  until,
  webhookEnv,
} from '@session-service/testing'
import type { Benchmark } from '../benchmark/benchmark.js'
import { type Finding, resultOf } from '../benchmark/findings.js'

const MINUTES = { quick: 1, full: 60 }
/** The silent window is 3 s, so a pause ends long before a node may be considered lost. */
const PAUSE_MS = 1_000
/** From one pause of a node to that of the next one. */
const PAUSE_EVERY_MS = 3_000
const RESTART_BUS_EVERY_MS = 25_000
const LOSS_TIMEOUT_MS = 30_000
const NODES = ['one', 'two', 'three']
/** The load of a processor, which ends with this process. */
const BUSY = `process.stdin.resume().once('end', () => process.exit())
const work = () => { for (const end = performance.now() + 100; performance.now() < end; ); setImmediate(work) }
work()`
const PICTURE = { width: 320, height: 180, fps: 15, kbps: 200 }

interface Disturbances {
  pauses: number
  busRestarts: number
}

interface Meetings {
  publishers: readonly SyntheticParticipant[]
  viewers: readonly SyntheticParticipant[]
}

/**
 * Two masters and three media nodes on processors that are all busy: nodes are paused for a second and the bus server is
 * restarted again and again. No node may be considered lost, and no participant may lose its media. At the end a node is
 * killed, whose loss must be reported.
 */
export const falseLosses: Benchmark = {
  run: async ({ quick, log }) => {
    await using cleanUp = new AsyncDisposableStack()
    const sink = await EventSink.open()
    cleanUp.defer(() => sink.close())
    const stack = await startStack({ nodes: 0, masters: 2, masterEnv: webhookEnv(sink) })
    cleanUp.defer(() => stack.stop())
    for (const id of NODES) await stack.addNode({ MEDIA_NODE_ID: id, MEDIA_NODE_WORKERS: '1' })
    const meetings = await meetOnEachNode(stack)
    cleanUp.defer(() => leaveAll(meetings))
    const load = Array.from({ length: availableParallelism() }, () => spawn(process.execPath, ['-e', BUSY]))
    cleanUp.defer(() => endAll(load))
    const minutes = quick ? MINUTES.quick : MINUTES.full
    const disturbances = await disturb(stack, minutes * 60_000, (seconds) => {
      log(`${seconds} s: ${lossesOf(sink).length} losses, ${interruptionsOf(meetings)} interruptions`)
    })
    const [losses, interruptions] = [lossesOf(sink), interruptionsOf(meetings)]
    const reportedAfterMs = await killOne(stack, sink).catch(() => undefined)
    const findings = findingsOf(losses, interruptions, reportedAfterMs)
    return resultOf(findings, { minutes, nodes: NODES.length, ...disturbances })
  },
}

const lossesOf = (sink: EventSink): string[] =>
  sink.accepted.flatMap(({ event }) => (event.event === 'nodeCrashed' ? [String(event.id)] : []))

const interruptionsOf = ({ publishers, viewers }: Meetings): number =>
  [...publishers, ...viewers].reduce((sum, { mediaRecoveries }) => sum + mediaRecoveries.length, 0)

/** A session with a publisher and a viewer on each node. */
async function meetOnEachNode({ api }: Stack): Promise<Meetings> {
  const publishers: SyntheticParticipant[] = []
  const viewers: SyntheticParticipant[] = []
  for (const node of NODES) {
    const { id } = await until('the node takes a session', () => api.createSession({ mediaNode: { id: node } }))
    const join = async (): Promise<SyntheticParticipant> =>
      SyntheticParticipant.join((await api.createConnection(id)).token ?? '')
    const [publisher, viewer] = [await join(), await join()]
    await viewer.subscribe((await publisher.publish(PICTURE)).streamId)
    publishers.push(publisher)
    viewers.push(viewer)
  }
  return { publishers, viewers }
}

async function leaveAll({ publishers, viewers }: Meetings): Promise<void> {
  await Promise.all([...viewers, ...publishers].map((each) => each.close()))
}

function endAll(processes: readonly ChildProcess[]): void {
  for (const each of processes) each.kill('SIGKILL')
}

async function disturb(stack: Stack, lengthMs: number, tell: (seconds: number) => void): Promise<Disturbances> {
  const from = performance.now()
  const done = { pauses: 0, busRestarts: 0 }
  let restartAt = RESTART_BUS_EVERY_MS
  for (let at = 0; at < lengthMs; at = performance.now() - from) {
    const node = stack.nodes[done.pauses % stack.nodes.length]
    if (node) await pause(node)
    done.pauses++
    if (at >= restartAt) {
      await stack.nats.restart()
      done.busRestarts++
      restartAt += RESTART_BUS_EVERY_MS
      tell(Math.round(at / 1_000))
    }
    await delay(Math.max(0, from + done.pauses * PAUSE_EVERY_MS - performance.now()))
  }
  return done
}

/** Its workers too. */
async function pause(node: AppProcess): Promise<void> {
  freeze(node)
  await delay(PAUSE_MS)
  thaw(node)
}

/** Until the loss of a killed node is reported, ms. */
async function killOne({ nodes }: Stack, sink: EventSink): Promise<number> {
  const before = lossesOf(sink).length
  const [victim] = nodes
  const from = performance.now()
  victim?.kill('SIGKILL')
  await until('the loss of the killed node is reported', () => lossesOf(sink).length > before, LOSS_TIMEOUT_MS)
  return performance.now() - from
}

const findingsOf = (
  losses: readonly string[],
  interruptions: number,
  reportedAfterMs: number | undefined,
): readonly Finding[] => [
  { name: 'no false losses', found: losses.join(', ') || 'none', passed: losses.length === 0 },
  { name: 'no participant lost its media', found: `${interruptions} interruptions`, passed: interruptions === 0 },
  {
    name: 'the loss of a killed node is reported',
    found: reportedAfterMs === undefined ? 'not' : `after ${reportedAfterMs.toFixed(0)} ms`,
    passed: reportedAfterMs !== undefined,
  },
]
