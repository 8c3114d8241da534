import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { NODE_SILENT_MS, SIGNALLING_WINDOWS } from '@session-service/contract'
import {
  ClockShift,
  EventSink,
  type Received,
  type Stack,
  startStack,
  SyntheticParticipant,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals'
import { Recordings } from '../fixtures/recorded.js'

jest.setTimeout(240_000)

const STEPS_MS = [30_000, -30_000, 3_600_000, -3_600_000]
/** The tolerance of all times. */
const TOLERANCE_MS = 1_500
/** Beyond the window of a lost socket: the scheduled jobs run once a second, on a busy machine later. */
const EVICTION_SLACK_MS = 6_000
/** Longer than the windows after which sockets and nodes are lost. */
const CALL_MS = { master: SIGNALLING_WINDOWS.evict + SIGNALLING_WINDOWS.silent + 1_000, node: NODE_SILENT_MS * 2 }
const TTL_S = 600

const cdrFolder = mkdtempSync(join(tmpdir(), 'cdr-'))
const clocks = { master: new ClockShift(), node: new ClockShift() }
let stack: Stack
let sink: EventSink
let recordings: Recordings
beforeAll(async () => {
  sink = await EventSink.open()
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  stack = await startStack({
    nodeEnv: clocks.node.env,
    masterEnv: {
      ...clocks.master.env,
      ...webhookEnv(sink),
      SERVICE_WEBHOOK_SECRETS: JSON.stringify([secret]),
      SERVICE_CDR: 'true',
      SERVICE_CDR_PATH: cdrFolder,
      SERVICE_RECORDING: 'true',
      TURN_IP: '127.0.0.1',
      TURN_SHARED_SECRET_KEY: 'key',
      TURN_CREDENTIALS_TTL: String(TTL_S),
    },
  })
  recordings = new Recordings(stack, sink)
})
const present: SyntheticParticipant[] = []
afterEach(async () => {
  await Promise.all(present.splice(0).map((each) => each.close()))
  await Promise.all(Object.values(clocks).map((clock) => clock.set(0)))
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
  for (const clock of Object.values(clocks)) clock.close()
  rmSync(cdrFolder, { recursive: true, force: true })
})

/** An action happened between these two times of the real clock, UTC ms. */
interface Span {
  from: number
  to: number
}
const spanOf = async <T>(act: () => Promise<T>): Promise<Span & { value: T }> => {
  const from = Date.now()
  const value = await act()
  return { from, to: Date.now(), value }
}
function expectWithin(what: string, time: number, { from, to }: Span): void {
  const isWithin = time >= from - TOLERANCE_MS && time <= to + TOLERANCE_MS
  if (!isWithin)
    throw new Error(`${what}: ${time} is ${time - from} ms after the beginning and ${time - to} after the end`)
}

const participant = async (id: string): Promise<SyntheticParticipant> => {
  const { token } = await stack.api.createConnection(id, { role: 'MODERATOR' })
  const joined = await SyntheticParticipant.join(token ?? '')
  present.push(joined)
  return joined
}

/** Two participants that receive each other; closed sockets are recorded. */
async function call() {
  const created = await spanOf(() => stack.api.createSession())
  const { id } = created.value
  const peers = [await participant(id), await participant(id)] as const
  const closed: string[] = []
  for (const { socketClosed } of peers) void socketClosed.then(({ code, reason }) => closed.push(`${code} ${reason}`))
  const streams = await Promise.all(peers.map((peer) => peer.publish({ width: 320, height: 180, fps: 15, kbps: 100 })))
  const watched = await Promise.all([
    peers[0].subscribe(streams[1]?.streamId ?? ''),
    peers[1].subscribe(streams[0]?.streamId ?? ''),
  ])
  const packets = (): number[] => watched.map((each) => each.stats().video?.packets ?? 0)
  const flows = async (what: string): Promise<void> => {
    const before = packets()
    await until(what, () => packets().every((count, nth) => count > (before[nth] ?? 0) + 20))
  }
  await flows('both see each other')
  return { id, created, peers, closed, flows }
}
type Call = Awaited<ReturnType<typeof call>>

async function goesOnWell({ id, peers, closed, flows }: Call, forMs: number): Promise<void> {
  const since = performance.now()
  await until('the call is long enough', () => performance.now() - since > forMs || closed[0], forMs * 3)
  expect(closed).toEqual([])
  await flows('media flows on')
  const left = sink.ofSession(id).filter(({ event }) => event.event === 'participantLeft')
  for (const { event } of left) expect(peers.map(({ connectionId }) => connectionId)).not.toContain(event.connectionId)
  expect(sink.accepted.map(({ event }) => event.event)).not.toContain('nodeCrashed')
  const noticed = peers.flatMap(({ events }) => events.map(({ method }) => method))
  for (const harm of ['mediaLost', 'sessionDisconnected', 'reconnect', 'snapshot']) expect(noticed).not.toContain(harm)
  const { content } = await stack.api.listMediaNodes()
  expect(content.map(({ status }) => status)).toEqual(['running'])
}

/** Ends the session; the times of all its events are correct to about a second. */
async function endsWithRightTimes({ id, created, closed }: Call): Promise<void> {
  expect(closed).toEqual([])
  const destroyed = await spanOf(() => stack.api.deleteSession(id))
  await sink.ended(id)
  const events = sink.ofSession(id)
  for (const received of events)
    expectRightTimes(received, { from: created.from, to: Math.max(received.at, destroyed.to) })
  const times = events.map(({ event }) => event.timestamp)
  expect(times).toEqual(times.toSorted((a, b) => a - b))
  const end = events.find(({ event }) => event.event === 'sessionDestroyed')?.event
  expectWithin('timestamp of sessionDestroyed', Number(end?.timestamp), destroyed)
  const lastedMs = { from: destroyed.from - created.to, to: destroyed.to - created.from }
  expectWithin('duration of the session', Number(end?.duration) * 1_000, lastedMs)
  await expectSameCallRecords(id, events)
}

function expectRightTimes({ event, headers, at }: Received, span: Span): void {
  expectWithin(`timestamp of ${event.event}`, event.timestamp, { from: span.from, to: at })
  expectWithin('webhook-timestamp', Number(headers['webhook-timestamp']) * 1_000, { from: at - 2_000, to: at })
  // The duration of a recording is that of its files.
  if (!('startTime' in event) || event.event === 'recordingStatusChanged') return
  expectWithin(`startTime of ${event.event}`, Number(event.startTime), span)
  const lastedMs = event.timestamp - Number(event.startTime)
  expectWithin(`duration of ${event.event}`, Number(event.duration) * 1_000, { from: lastedMs, to: lastedMs })
}

/** Call records have the same times as the events. */
async function expectSameCallRecords(id: string, events: readonly Received[]): Promise<void> {
  const linesOf = (): unknown[] =>
    readdirSync(cdrFolder)
      .flatMap((name) => readFileSync(join(cdrFolder, name), 'utf8').split('\n'))
      .filter((line) => line.includes(id))
      .map(
        (line) =>
          Object.entries(JSON.parse(line) as Record<string, object>).map(([event, rest]) => ({ event, ...rest }))[0],
      )
  const isWritten = (): boolean => JSON.stringify(linesOf()).includes('"sessionDestroyed"')
  await until('the call record of the end is written', isWritten, 30_000)
  const ended = linesOf().filter((line) => JSON.stringify(line).includes('"duration"'))
  expect(ended.length).toBeGreaterThanOrEqual(3)
  for (const line of ended) expect(events.map(({ event }) => event)).toContainEqual(line)
}

describe.each(STEPS_MS)('when the wall clock of the master steps by %d ms during a call', (step) => {
  it('all participants stay, a lost socket has 12 s, scheduled jobs run and all times are correct', async () => {
    const met = await call()
    await clocks.master.set(step)
    const joined = await spanOf(() => participant(met.id))
    const lost = joined.value
    const [expiry = ''] = lost.joined.iceServers[0]?.username?.split(':') ?? []
    expectWithin('expiry of the TURN credentials', (Number(expiry) - TTL_S) * 1_000, joined)
    expectWithin('createdAt of a connection', lost.joined.createdAt, joined)
    const refused = await spanOf(() => stack.rest('GET', '/sessions/unknown'))
    expectWithin('timestamp of an error', (refused.value.body as { timestamp: number }).timestamp, refused)

    const lostAt = Date.now()
    lost.dropSocket()
    const left = (): Received | undefined =>
      sink.ofSession(met.id).find(({ event }) => event.event === 'participantLeft')
    await Promise.all([
      goesOnWell(met, CALL_MS.master),
      until('the lost participant is evicted', left, SIGNALLING_WINDOWS.evict * 4),
    ])
    expect(left()?.event).toMatchObject({ connectionId: lost.connectionId, reason: 'networkDisconnect' })
    const window = {
      from: lostAt + SIGNALLING_WINDOWS.evict - SIGNALLING_WINDOWS.ping,
      to: lostAt + SIGNALLING_WINDOWS.evict + EVICTION_SLACK_MS,
    }
    expectWithin('the eviction', Number(left()?.event.timestamp), window)
    await endsWithRightTimes(met)
  })
})

describe.each(STEPS_MS)('when the wall clock of the media node steps by %d ms during a call', (step) => {
  it('all participants stay, and the recording and all times are correct', async () => {
    const met = await call()
    const started = await spanOf(() => recordings.start(met.id, { outputMode: 'INDIVIDUAL' }))
    const { id, createdAt } = started.value.body as { id: string; createdAt: number }
    expectWithin('createdAt of the recording', createdAt, started)
    await clocks.node.set(step)
    await goesOnWell(met, CALL_MS.node)
    const stopped = await spanOf(() => recordings.stop(id))
    const { duration } = await recordings.becomes(id, 'ready')
    const lastedMs = { from: stopped.from - started.to, to: stopped.to - started.from }
    expectWithin('duration of the recording', duration * 1_000, lastedMs)
    const [node] = (await stack.api.listMediaNodes()).content
    expect(node?.launchingTime).toBeLessThan(met.created.from)
    await endsWithRightTimes(met)
  })
})
