/** @quiet It measures stalls of the event loop. */
import {
  calmMs,
  descendantsOf,
  quantile,
  SignallingClient,
  SignallingError,
  startStack,
  type Stack,
  until,
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

/** The limit of the growth of the p99 of POST connection while clients rejoin, ms. */
const STALL_MS = 1_500
let stack: Stack

beforeAll(async () => {
  stack = await startStack({ nodes: 0, masters: 2 })
  await Promise.all(['media_one', 'media_two'].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID })))
  await startAllNodes(stack)
})
afterAll(() => stack.stop())

const meeting = useMeetings(() => stack)
const pairOf = ({ peers: [alice, bob] }: Meeting) => {
  if (!alice || !bob) throw new Error('a meeting has two participants')
  return { alice, bob }
}

describe('rejoin', () => {
  it('works at any time and twice: it ends the published streams, which can be published again under their ids', async () => {
    const met = await meeting()
    const { alice, bob } = pairOf(met)
    const [stream] = met.streams
    const streamId = stream?.streamId ?? ''
    const tracks = [audioTrack()]
    await expect(alice.call('publish', { streamId, tracks })).rejects.toMatchObject({ code: 'INVALID' })
    await alice.call('rejoin', {})
    const { routerRtpCapabilities, snapshot } = await alice.call('rejoin', {})
    expect(routerRtpCapabilities.codecs.length).toBeGreaterThan(0)
    expect(snapshot.mediaEpoch).toBe(1)
    expect((await bob.waitFor('streamDestroyed')).params).toEqual({
      streamId,
      connectionId: alice.connectionId,
      reason: 'mediaServerReconnect',
    })
    expect(await shownMedia(stack, met.id)).toEqual([
      { id: alice.connectionId, publishers: [], subscribers: [] },
      { id: bob.connectionId, publishers: [met.streams[1]?.streamId], subscribers: [] },
    ])
    const audioId = `str_MIC_abcd_${alice.connectionId}`
    expect(await alice.call('publish', { streamId: audioId, tracks })).toMatchObject({ streamId: audioId })
    await bob.waitFor('streamCreated', (created) => created.streamId === audioId)
    await expect(alice.call('publish', { streamId: audioId, tracks })).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it.each([
    ['of another connection', (own: string) => `str_MIC_abcd_${own}x`],
    ['of another kind', (own: string) => `str_CAM_abcd_${own}`],
    ['of another form', (own: string) => own],
  ])('does not allow publishing under an id %s', async (_, idOf) => {
    const { id } = await stack.api.createSession()
    const client = await stack.join(id)
    const own = (await stack.api.getSession(id)).connections.content[0]?.id ?? ''
    const refused = client.request('publish', { streamId: idOf(own), tracks: [audioTrack()] })
    await expect(refused).rejects.toMatchObject({ code: 'INVALID', message: expect.stringContaining('streamId') })
    await client.close()
    await stack.api.deleteSession(id)
  })

  it('lets the publisher end a lost stream, so that the others no longer wait for it', async () => {
    const { id } = await stack.api.createSession()
    const [publisher, other] = [await stack.join(id), await stack.join(id)]
    const { streamId } = await publisher.request('publish', { tracks: [audioTrack()] })
    const returns = [publisher, other].map(rejoin)
    ;(await nodeOf(stack, id)).kill('SIGKILL')
    await Promise.all(returns)
    await publisher.request('unpublish', { streamId })
    const { connectionId, reason } = await other.waitFor('streamDestroyed', (ended) => ended.streamId === streamId)
    expect([connectionId, reason]).toEqual([streamId.replace(/^str_[A-Z]{3}_\w{4}_/, ''), 'unpublish'])
    await expect(other.request('unpublish', { streamId })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await stack.api.deleteSession(id)
  })

  it('follows also when the master that moved the session sent no message', async () => {
    const met = await meeting()
    const before = await shownMedia(stack, met.id)
    // The state that a master leaves when it dies between its commit and its message.
    const move = () =>
      stack.postgres.query(
        `WITH moved AS (UPDATE session SET media_node_id = NULL, media_node_boot_id = NULL, media_moved = true
                        WHERE id = $1 RETURNING id)
         DELETE FROM stream WHERE session_id = (SELECT id FROM moved)`,
        [met.id],
      )
    const took = await mediaRestoredMs([met], move)
    console.info(`media again ${(took / 1000).toFixed(2)} s after a move without a message`)
    expect(await shownMedia(stack, met.id)).toEqual(before)
  })

  it('follows a resumption that missed the loss', async () => {
    const met = await meeting()
    const { alice, bob } = pairOf(met)
    alice.dropSocket()
    await alice.socketClosed
    // The loss of a worker is reported at once, that of a node takes seconds, and the eviction window is short.
    const killWorker = async (): Promise<void> => {
      for (const { pid, command } of descendantsOf((await nodeOf(stack, met.id)).pid)) {
        if (command.includes('mediasoup-worker')) process.kill(pid, 'SIGKILL')
      }
    }
    await mediaRestoredMs([{ ...met, peers: [bob], watched: [] }], killWorker)
    const took = await mediaRestoredMs([met], () => alice.resume())
    console.info(`media again ${(took / 1000).toFixed(2)} s after a resumption that followed a loss`)
    expect(alice.events.filter(({ method }) => method === 'mediaLost')).toEqual([])
  })
})

describe('a master that is killed', () => {
  it('loses no packet of flowing media; sockets resume at the other master, and no signal is lost or duplicated', async () => {
    const met = await meeting()
    const { alice, bob } = pairOf(met)
    const before = await shownMedia(stack, met.id)
    const audio = () => met.watched.map((each) => each.stats().audio)
    const [first] = stack.masters
    const packets = audio().map((each) => each?.packets ?? 0)
    const start = performance.now()
    first?.kill('SIGKILL')
    await alice.socketClosed
    await alice.resume(stack.atMaster(1, alice.url))
    console.info(`socket back at the other master ${Math.round(performance.now() - start)} ms after kill -9`)
    await until('audio continues', () => audio().every((each, nth) => (each?.packets ?? 0) > (packets[nth] ?? 0) + 100))
    expect(audio().map((each) => [each?.lost, each?.duplicates])).toEqual([
      [0, 0],
      [0, 0],
    ])
    await alice.signal({ data: 'once' })
    await bob.waitFor('signal')
    await bob.signal({ data: 'answer' })
    await alice.waitFor('signal', ({ data }) => data === 'answer')
    if (first) await stack.revive(first)
    expect(await shownMedia(stack, met.id)).toEqual(before)
    expect([alice, bob].map(({ events }) => events.filter(({ method }) => method === 'signal').length)).toEqual([2, 2])
    expect([alice, bob].map(recoveriesOf)).toEqual(['', ''])
    const ends = [alice, bob].flatMap(({ events }) => events.filter(({ method }) => method.endsWith('Destroyed')))
    expect(ends).toEqual([])
  })
})

describe('many clients of a lost node', () => {
  it('rejoin spread over time, each once, while other requests are served', async () => {
    const PER_SESSION = 10
    const sessions = await Promise.all(
      Array.from({ length: 6 }, () => stack.api.createSession({ mediaNode: { id: 'media_one' } })),
    )
    const clients: SignallingClient[] = []
    for (const { id } of sessions) {
      clients.push(...(await Promise.all(Array.from({ length: PER_SESSION }, () => stack.join(id)))))
    }
    const ids = sessions.map(({ id }) => id)
    const idle: number[] = []
    await connectUntil(ids, idle, () => idle.length >= 100)
    const returns = clients.map((client) => rejoin(client))
    const node = await nodeOf(stack, sessions[0]?.id ?? '')
    node.kill('SIGKILL')
    await Promise.race(clients.map((client) => client.waitFor('mediaLost', undefined, 30_000)))
    const rejoining = { isOver: false }
    const during: number[] = []
    const connecting = connectUntil(ids, during, () => rejoining.isOver && during.length >= 20)
    const times = await Promise.all(returns)
    rejoining.isOver = true
    await connecting
    const [idleMs, duringMs] = [quantile(idle, 0.99), quantile(during, 0.99)]
    const delays = times.map(({ afterMs }) => afterMs)
    const [soonest, last] = [Math.min(...times.map(({ at }) => at)), Math.max(...times.map(({ at }) => at))]
    console.info(
      `${clients.length} clients rejoined within ${Math.round(last - soonest)} ms; announced delays up to ` +
        `${Math.max(...delays)} ms; tries ${Math.max(...times.map(({ tries }) => tries))}; ` +
        `p99 of POST connection ${Math.round(duringMs)} ms of ${during.length}, before ${Math.round(idleMs)} ms`,
    )
    expect(duringMs).toBeLessThan(idleMs + STALL_MS)
    // Sixty clients at 15 ms each; uniformly random, so each third of that has some.
    const thirds = [0, 300, 600].map((from) => delays.filter((ms) => ms >= from && ms < from + 300).length)
    expect(Math.max(...delays)).toBeLessThanOrEqual(900)
    expect(Math.min(...thirds)).toBeGreaterThan(0)
    for (const client of clients) expect(client.received('mediaLost')).toHaveLength(1)
    for (const { id } of sessions) {
      expect(await stack.api.getSession(id)).toMatchObject({ mediaNodeId: 'media_two' })
      await stack.api.deleteSession(id)
    }
  })
})

/** Creates connections one after another and measures each, ms. */
async function connectUntil(ids: readonly string[], tookMs: number[], isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const start = calmMs()
    await stack.api.createConnection(ids[tookMs.length % ids.length] ?? '')
    tookMs.push(calmMs() - start)
  }
}

/** Rejoins like a client: waits for the announced delay, and retries after a temporary error. */
async function rejoin(client: SignallingClient): Promise<{ afterMs: number; at: number; tries: number }> {
  const { afterMs } = await client.waitFor('mediaLost', undefined, 30_000)
  await new Promise((resolve) => setTimeout(resolve, afterMs))
  let tries = 0
  await until('the client has rejoined', async () => {
    tries++
    return client.request('rejoin', {}).catch((error: unknown) => {
      if (error instanceof SignallingError && ['UNAVAILABLE', 'NO_CAPACITY', 'TIMEOUT'].includes(error.code))
        return null
      throw error
    })
  })
  return { afterMs, at: performance.now(), tries }
}

const audioTrack = () => ({
  kind: 'audio' as const,
  rtpParameters: {
    mid: '7',
    codecs: [{ mimeType: 'audio/opus', payloadType: 111, clockRate: 48_000, channels: 2 }],
    encodings: [{ ssrc: 77_777 }],
  },
})
