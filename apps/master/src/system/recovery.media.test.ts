import {
  type AppProcess,
  descendantsOf,
  EventSink,
  type SignallingError,
  startStack,
  type Stack,
  SyntheticParticipant,
  until,
  webhookEnv,
} from '@session-service/testing'
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import {
  shownMedia,
  type Meeting,
  nodeOf,
  recoveriesOf,
  startAllNodes,
  mediaRestoredMs,
  useMeetings,
} from './fixtures/meeting.js'

const NODES = ['media_one', 'media_two', 'media_three']
let stack: Stack
let sink: EventSink

beforeAll(async () => {
  sink = await EventSink.open()
  stack = await startStack({ nodes: 0, masters: 2, masterEnv: webhookEnv(sink), nodeEnv: { MEDIA_NODE_WORKERS: '2' } })
  await Promise.all(NODES.map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
})
afterAll(async () => {
  await stack.stop()
  await sink.close()
})

const meeting = useMeetings(() => stack)
const count = (sessionId: string, event: string): number =>
  sink.names(sessionId).filter((name) => name === event).length
const workersOf = ({ pid }: AppProcess) =>
  descendantsOf(pid).filter(({ command }) => command.includes('mediasoup-worker'))
const shown = (both: Meeting[]) => Promise.all(both.map(({ id }) => shownMedia(stack, id)))

async function expectUnchanged(met: Meeting, before: Awaited<ReturnType<typeof shownMedia>>): Promise<void> {
  await until('the REST API shows the same streams as before', async () => {
    expect(await shownMedia(stack, met.id)).toEqual(before)
    return true
  })
  for (const { events, violations } of met.peers) {
    const ends = events.filter(({ method }) => method.endsWith('Destroyed') || method === 'sessionDisconnected')
    expect([ends, violations]).toEqual([[], []])
  }
}

/** Polls the REST API until `over`, and returns sessions without a media node that still show streams. */
async function staleStreams(over: Promise<unknown>): Promise<unknown[]> {
  const stale: unknown[] = []
  const state = { isOver: false }
  void over.finally(() => (state.isOver = true)).catch(() => undefined)
  while (!state.isOver) {
    const { content } = await stack.api.listSessions()
    for (const { id, mediaNodeId, connections } of content) {
      const published = connections.content.flatMap(({ publishers }) => publishers ?? [])
      if (mediaNodeId === undefined && published.length > 0) stale.push({ id, published })
    }
  }
  return stale
}

describe('a media node that is killed', () => {
  it('loses its sessions to other nodes: all participants receive each other again, under the same ids', async () => {
    const both = [await meeting('media_one'), await meeting('media_one')]
    const before = await shown(both)
    const node = await nodeOf(stack, both[0]?.id ?? '')
    const back = mediaRestoredMs(both, () => node.kill('SIGKILL'))
    expect(await staleStreams(back)).toEqual([])
    console.info(`media again ${((await back) / 1000).toFixed(2)} s after kill -9 of the node: 4 peers in 2 sessions`)
    for (const [nth, met] of both.entries()) {
      const { id, peers } = met
      await expectUnchanged(met, before[nth] ?? [])
      expect((await stack.api.getSession(id)).mediaNodeId).not.toBe('media_one')
      expect(peers.map(recoveriesOf)).toEqual(peers.map(() => 'reconnecting reconnected'))
      await until('the events of the recovery arrive', () => count(id, 'webrtcConnectionCreated') === 8)
      const ends = sink.ofSession(id).filter(({ event }) => 'reason' in event)
      expect(ends.map(({ event }) => `${event.event} ${String(event.reason)}`)).toEqual(
        Array.from({ length: 4 }, () => 'webrtcConnectionDestroyed nodeCrashed'),
      )
      const crash = sink.accepted.findIndex(({ event }) => event.event === 'nodeCrashed')
      expect(sink.accepted.findIndex(({ id: event }) => event === ends[0]?.id)).toBeGreaterThan(crash)
    }
    const crashes = sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')
    expect(crashes.map(({ event }) => (event.sessionIds as string[]).toSorted())).toEqual([
      both.map(({ id }) => id).toSorted(),
    ])
  })

  it('loses its sessions also when the next node is killed while they move there', async () => {
    const met = await meeting('media_two')
    const before = await shownMedia(stack, met.id)
    const killBoth = async (): Promise<void> => {
      const first = await nodeOf(stack, met.id)
      first.kill('SIGKILL')
      await met.peers[0]?.waitFor('mediaLost', undefined, 20_000)
      const next = await until('the session is placed again', () => nodeOf(stack, met.id))
      next.kill('SIGKILL')
    }
    const took = await mediaRestoredMs([met], killBoth, 3)
    console.info(`media again ${(took / 1000).toFixed(2)} s after the first of two kills`)
    await expectUnchanged(met, before)
  })

  it('does not end its sessions when no other node is left: they wait for one', async () => {
    const met = await meeting()
    const before = await shownMedia(stack, met.id)
    const late = await stack.api.createConnection(met.id)
    for (const node of stack.nodes) node.kill('SIGKILL')
    await Promise.all(met.peers.map((peer) => peer.waitFor('mediaLost', undefined, 20_000)))
    await until('a master knows the loss of all nodes', async () => (await refusalOf(met.peers[0])) === 'NO_CAPACITY')
    const [stream] = met.streams
    await expect(met.peers[0]?.call('unpublish', { streamId: stream?.streamId ?? '' })).rejects.toMatchObject({
      code: 'UNAVAILABLE',
    })
    const refusal = () => refusalIn(SyntheticParticipant.join(late.token ?? ''))
    await until('the other master knows it as well', async () => (await refusal()) === 'NO_CAPACITY')
    await met.peers[0]?.signal({ data: 'still here' })
    await met.peers[1]?.waitFor('signal')
    const took = await mediaRestoredMs([met], () => stack.revive(nodeAt(0)))
    console.info(`media again ${(took / 1000).toFixed(2)} s after the start of a node when none was left`)
    await expectUnchanged({ ...met, peers: [] }, before)
    const newcomer = await SyntheticParticipant.join(late.token ?? '')
    await newcomer.leave()
  })
})

const refusalIn = (call: Promise<unknown>): Promise<string> =>
  call.then(
    () => 'none',
    (error: unknown) => (error as SignallingError).code,
  )
const refusalOf = async (peer: SyntheticParticipant | undefined): Promise<string> =>
  peer ? refusalIn(peer.call('rejoin', {})) : 'none'

const nodeAt = (nth: number): AppProcess => {
  const node = stack.nodes[nth]
  if (!node) throw new Error(`no node ${nth}`)
  return node
}
const isLoss = ({ method }: { method: string }): boolean => method === 'mediaLost'

describe('a worker that is killed', () => {
  it('interrupts the media of its own sessions only, and is no crash of the node', async () => {
    const both = [await meeting('media_three'), await meeting('media_three')]
    const before = await shown(both)
    const node = await nodeOf(stack, both[0]?.id ?? '')
    const [worker] = workersOf(node)
    const crashes = sink.accepted.filter(({ event }) => event.event === 'nodeCrashed').length
    process.kill(worker?.pid ?? 0, 'SIGKILL')
    const affected = await until('one of the sessions loses its media', () => both.filter(hasLost)[0])
    const other = both.find((met) => met !== affected)
    const took = await mediaRestoredMs([affected], () => undefined)
    console.info(`media again ${(took / 1000).toFixed(2)} s after the loss of a worker`)
    for (const [nth, met] of both.entries()) await expectUnchanged(met, before[nth] ?? [])
    expect(other?.peers.map(recoveriesOf)).toEqual(['', ''])
    await until('the events of the recovery arrive', () => count(affected.id, 'webrtcConnectionCreated') === 8)
    const ends = sink.ofSession(affected.id).filter(({ event }) => 'reason' in event)
    expect(ends.map(({ event }) => event.reason)).toEqual(ends.map(() => 'mediaServerDisconnect'))
    expect(sink.accepted.filter(({ event }) => event.event === 'nodeCrashed')).toHaveLength(crashes)
    await until('there are two workers again', () => workersOf(node).length === 2)
  })
})

describe('a node whose workers keep dying', () => {
  it('loses its sessions to another', async () => {
    const met = await meeting('media_three')
    const before = await shownMedia(stack, met.id)
    const node = await nodeOf(stack, met.id)
    const start = performance.now()
    await until(
      'the session is elsewhere',
      async () => {
        for (const { pid } of workersOf(node)) process.kill(pid, 'SIGKILL')
        const { mediaNodeId = 'media_three' } = await stack.api.getSession(met.id)
        return mediaNodeId !== 'media_three'
      },
      40_000,
    )
    await mediaRestoredMs([met], () => undefined)
    console.info(
      `media again ${((performance.now() - start) / 1000).toFixed(2)} s after the first of many worker deaths`,
    )
    await expectUnchanged(met, before)
  })
})

const hasLost = ({ peers }: Meeting): boolean => peers.some(({ events }) => events.some(isLoss))

describe('a loss of media', () => {
  it('during joins and publications does not prevent retries, and nothing of the lost media is left', async () => {
    const met = await meeting('media_one')
    const tokens = await Promise.all(Array.from({ length: 4 }, () => stack.api.createConnection(met.id)))
    const retry = <T>(what: string, act: () => Promise<T>): Promise<T> => until(what, act, 30_000) as Promise<T>
    const joins = tokens.map(async ({ token }, nth) => {
      const peer = await retry('a join', () => SyntheticParticipant.join(token ?? ''))
      met.peers.push(peer)
      if (nth % 2 === 0) await retry('a publication', () => peer.publish({ video: false }))
      return peer
    })
    const node = await nodeOf(stack, met.id)
    await until('a participant has joined', () => met.peers.length > 2)
    node.kill('SIGKILL')
    const arrived = await Promise.all(joins)
    await until('all have rejoined', () => {
      const epochs = new Set(met.peers.map(({ mediaEpoch }) => mediaEpoch))
      return epochs.size === 1 && !epochs.has(1)
    })
    await until('the REST API shows exactly the published streams', async () => {
      const media = await shownMedia(stack, met.id)
      const published = new Map(met.peers.map((peer) => [peer.connectionId, peer.published.map((s) => s.streamId)]))
      for (const { id, publishers } of media) expect(publishers.toSorted()).toEqual(published.get(id)?.toSorted())
      return media.length === 2 + arrived.length
    })
  })

  it('does not keep a participant from being evicted and notified meanwhile', async () => {
    const met = await meeting('media_two')
    const [alice, bob] = met.peers
    if (!alice || !bob) throw new Error('a participant is missing')
    for (const node of stack.nodes) node.kill('SIGKILL')
    await bob.waitFor('mediaLost', undefined, 20_000)
    await alice.call('forceDisconnect', { connectionId: bob.connectionId })
    expect((await bob.waitFor('sessionDisconnected')).params).toEqual({ reason: 'forceDisconnectByUser' })
    await stack.revive(nodeAt(0))
    await until('alice is back', () => recoveriesOf(alice) === 'reconnecting reconnected', 20_000)
    expect(await shownMedia(stack, met.id)).toEqual([
      { id: alice.connectionId, publishers: [met.streams[0]?.streamId], subscribers: [] },
    ])
  })
})
