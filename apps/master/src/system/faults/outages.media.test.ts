/** @quiet @light It measures pauses of media. */
import {
  type AppProcess,
  blockEventLoop,
  budgetMs,
  countOf,
  descendantsOf,
  EventSink,
  FaultRig,
  freePorts,
  inspectable,
  SyntheticParticipant,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals'

jest.setTimeout(240_000)

/** With FAULTS_FULL=1 outages last as long as in the catalogue. */
const isFull = process.env.FAULTS_FULL === '1'
const OUTAGE_MS = isFull ? 60_000 : 8_000
const MASTER_AWAY_MS = isFull ? 20_000 : 3_000
/** Longer than the five seconds after which a silent master counts as dead. */
const BLOCKED_MS = 7_500

let rig: FaultRig
let sink: EventSink
let inspector: number
const present: SyntheticParticipant[] = []
beforeAll(async () => {
  sink = await EventSink.open()
  rig = await FaultRig.open({ nodes: 2, ownPostgres: true, masterEnv: webhookEnv(sink) })
  ;[inspector = 0] = await freePorts(1)
})
afterAll(async () => {
  await rig.close()
  await sink.close()
})
afterEach(async () => {
  await Promise.all(present.splice(0).map((participant) => participant.close()))
  const { content } = await rig.stack.api.listSessions()
  await Promise.all(content.map(({ id }) => rig.stack.api.deleteSession(id).catch(() => undefined)))
})

/** Creates a session with a publisher and a subscriber, which may join at another master. */
async function watchedSession({ node, watcherAt = 0 }: { node?: string; watcherAt?: number } = {}) {
  const { id } = await rig.stack.api.createSession(node === undefined ? {} : { mediaNode: { id: node } })
  const tokens = await Promise.all([rig.stack.api.createConnection(id), rig.stack.api.createConnection(id)])
  const sender = await SyntheticParticipant.join(tokens[0].token ?? '')
  const watcher = await SyntheticParticipant.join(rig.stack.atMaster(watcherAt, tokens[1].token))
  present.push(sender, watcher)
  const { streamId } = await sender.publish({ audio: true, video: true })
  const watched = await watcher.subscribe(streamId)
  await until('the watcher receives video', () => (watched.stats().video?.keyFrames ?? 0) > 0)
  const { mediaNodeId = '' } = await rig.stack.api.getSession(id)
  return { id, sender, watcher, watched, mediaNodeId }
}
type Watched = Awaited<ReturnType<typeof watchedSession>>

/** Observes the audio for some time and returns the longest pause between packets, ms. */
async function longestPauseMs({ watched }: Watched, ms: number): Promise<number> {
  const end = performance.now() + ms
  let [packets, at, longest] = [watched.stats().audio?.packets ?? 0, performance.now(), 0]
  await until(
    'the time is over',
    () => {
      const [now, seen] = [performance.now(), watched.stats().audio?.packets ?? 0]
      if (seen > packets) [packets, at] = [seen, now]
      longest = Math.max(longest, now - at)
      return now > end
    },
    ms * 2,
  )
  return Math.round(longest)
}

/** A busy machine delays packets; a stopped stream has none at all. */
const PAUSE_MS = budgetMs(2_000)

/** Both are in the session and were notified of media only. */
async function expectUnaffected({ id, sender, watcher, watched, mediaNodeId }: Watched): Promise<void> {
  const methods = [sender, watcher].flatMap(({ events }) => events.map(({ method }) => method))
  const unwanted = ['connectionDestroyed', 'streamDestroyed', 'sessionDisconnected', 'mediaLost', 'nodeCrashed']
  expect(methods.filter((method) => unwanted.includes(method))).toEqual([])
  expect(await rig.stack.api.getSession(id)).toMatchObject({ mediaNodeId, connections: { numberOfElements: 2 } })
  expect([...sender.violations, ...watcher.violations]).toEqual([])
  expect(watched.stats().audio?.lost).toBe(0)
}

const gauge = async ({ opsUrl }: AppProcess, name: string): Promise<number> => {
  const text = await (await fetch(`${opsUrl}/metrics`)).text()
  const line = text.split('\n').find((each) => each.startsWith(`session_service_${name} `))
  return Number(line?.split(' ').at(-1) ?? Number.NaN)
}

const nodeOf = (index: number): string =>
  String(
    rig.stack.journal
      .find(new RegExp(`^node${index + 1} .*"mediaNodeId"`))[0]
      ?.match(/"mediaNodeId":"(media_\w+)"/)?.[1],
  )

/** The crashes before the current test. */
let crashesBefore = 0
const allCrashes = (): unknown[] => sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')
const crashes = (): unknown[] => allCrashes().slice(crashesBefore)
beforeEach(() => {
  crashesBefore = allCrashes().length
})

describe('while media flows', () => {
  it('the only master dies and returns: media continues, sockets resume, and queued events are delivered', () =>
    rig.run('only master dead', async ({ figure, mark, since, exempt }) => {
      let isAway = true
      sink.behaviour = () => (isAway ? { status: 503 } : undefined)
      const session = await watchedSession()
      const master = rig.master()
      exempt(master)
      master.kill('SIGKILL')
      const pause = await longestPauseMs(session, MASTER_AWAY_MS)
      await rig.stack.revive(master)
      mark()
      await Promise.all([session.sender.resume(), session.watcher.resume()])
      figure('sockets back after ms', since())
      expect(pause).toBeLessThan(PAUSE_MS)
      figure('longest pause between packets in ms', pause)
      await expectUnaffected(session)
      isAway = false
      const reported = (): Record<string, number> => countOf(sink.ofSession(session.id).map(({ event }) => event.event))
      await until('all queued events are delivered', () => (reported().webrtcConnectionCreated ?? 0) === 2, 30_000)
      expect(reported()).toEqual({ participantJoined: 2, sessionCreated: 1, webrtcConnectionCreated: 2 })
      await session.watcher.signal({ data: 'still here' })
      await session.sender.waitFor('signal')
    }))

  it('the bus is dead: media continues, reads work, requests for nodes are refused, and no node counts as crashed', () =>
    rig.run('bus dead', async ({ figure, mark, since }) => {
      const session = await watchedSession()
      rig.stack.nats.kill()
      await rig.becomes('not ready', rig.master(), '/readyz', 503)
      const refused = await rig.stack.rest('DELETE', `/sessions/${session.id}`)
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
      expect((await rig.stack.rest('GET', `/sessions/${session.id}`)).status).toBe(200)
      const pause = await longestPauseMs(session, OUTAGE_MS)
      await rig.stack.nats.restart()
      mark()
      await rig.becomes('ready', rig.master(), '/readyz', 200)
      await until('signals pass', () => session.watcher.signal({ data: 'back' }).then(() => true))
      figure('healed after ms', since())
      await session.sender.waitFor('signal', ({ data }) => data === 'back')
      // A node that was disconnected accepts no participant until a master has confirmed its rooms.
      await until('both nodes accept sessions again', async () => {
        const fenced = await Promise.all([0, 1].map((index) => gauge(rig.node(index), 'fenced')))
        return fenced.every((value) => value === 0)
      })
      figure('nodes accept sessions again after ms', since())
      expect(pause).toBeLessThan(PAUSE_MS)
      figure('longest pause between packets in ms', pause)
      await expectUnaffected(session)
      expect(crashes()).toEqual([])
    }))

  it('Postgres is dead: media continues, and reports of nodes are processed later', () =>
    rig.run('Postgres dead', async ({ figure, mark, since }) => {
      const [kept, doomed] = [await watchedSession({ node: nodeOf(0) }), await watchedSession({ node: nodeOf(1) })]
      await rig.postgres.crash()
      await rig.becomes('not ready', rig.master(), '/readyz', 503)
      const [worker] = descendantsOf(rig.node(1).pid).filter(({ command }) => command.includes('mediasoup-worker'))
      if (worker) process.kill(worker.pid, 'SIGKILL')
      const { status, headers } = await rig.stack.rest('POST', '/sessions', {})
      expect([status, headers.get('retry-after')]).toEqual([503, '2'])
      await expect(kept.sender.publish({ audio: true })).rejects.toMatchObject({ code: 'UNAVAILABLE' })
      const pause = await longestPauseMs(kept, OUTAGE_MS)
      // A socket that closes during the outage gets its deadline afterwards.
      kept.sender.dropSocket()
      await rig.postgres.restart()
      mark()
      await rig.becomes('ready', rig.master(), '/readyz', 200)
      await until('writes work', async () => (await rig.stack.rest('POST', '/sessions', {})).status === 200)
      figure('healed after ms', since())
      await until('the lost participant has a deadline', async () => {
        const [row] = await rig.stack.postgres.query('SELECT evict_at FROM connection WHERE id = $1', [
          kept.sender.connectionId,
        ])
        return row?.evict_at instanceof Date
      })
      await kept.sender.resume()
      const events = (): string[] =>
        sink.ofSession(doomed.id).map(({ event }) => `${event.event} ${String(event.reason)}`)
      await until(
        'the loss of the worker is reported',
        () => events().some((name) => name.endsWith('mediaServerDisconnect')),
        30_000,
      )
      figure('the loss of the worker is reported after ms', since())
      expect(pause).toBeLessThan(PAUSE_MS)
      await expectUnaffected(kept)
    }))

  it('a master is blocked for long: its participants stay, and no node counts as crashed', () =>
    rig.run('blocked master', async ({ figure, exempt }) => {
      const second = await rig.stack.addMaster(inspectable(inspector))
      exempt(second)
      const session = await watchedSession({ watcherAt: 1 })
      const evictAt = async (): Promise<unknown> => {
        const id = session.watcher.connectionId
        return (await rig.stack.postgres.query('SELECT evict_at FROM connection WHERE id = $1', [id]))[0]?.evict_at
      }
      const blocked = blockEventLoop(inspector, BLOCKED_MS)
      await until('the other master counts it as dead', evictAt, 30_000)
      await blocked
      await until('its participant has no deadline', async () => (await evictAt()) === null, 30_000)
      figure('pause of media in ms', await longestPauseMs(session, 1_000))
      await session.sender.signal({ data: 'you are here' })
      await session.watcher.waitFor('signal', ({ data }) => data === 'you are here')
      await expectUnaffected(session)
      expect(crashes()).toEqual([])
      await until('it is alive again', async () => (await fetch(`${second.opsUrl}/healthz`)).status === 200, 30_000)
    }))

  it('a node loses the bus: its clients keep their media for a while, and it drops rooms that have moved', () =>
    rig.run('node without bus', async ({ figure, mark, since }) => {
      const session = await watchedSession({ node: nodeOf(0) })
      const wire = rig.wire('node1', 'nats')
      wire.mode = 'hang'
      const pause = await longestPauseMs(session, 2_000)
      expect(pause).toBeLessThan(PAUSE_MS)
      await until('the node counts as lost', () => crashes().length === 1, 30_000)
      figure('nodeCrashed after ms', since())
      // A node that is back before the participants rejoin gets the session again, because the session prefers it.
      const { api } = rig.stack
      await until('the session has moved', async () => (await api.getSession(session.id)).mediaNodeId === nodeOf(1))
      wire.mode = 'pass'
      mark()
      await rig.becomes('ready', rig.node(0), '/readyz', 200)
      const isDropped = async (): Promise<boolean> => (await gauge(rig.node(0), 'media_rooms')) === 0
      await until('it has dropped the moved room', isDropped, 30_000)
      figure('fenced after ms', since())
    }))
})
