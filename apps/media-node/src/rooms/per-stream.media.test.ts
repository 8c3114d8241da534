import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import {
  NODE_COMMANDS,
  type PublishedTrack,
  type RtpCapabilities,
  type TransportOptions,
} from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom } from './fixtures/publisher.js'
import { audioOnly, audioTrack, dtls, publication, simulcastTrack, UNLIMITED, videoTrack } from './fixtures/samples.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start({ size: 2 })))
afterAll(() => stack.stop())

/** The worker rejects the second track. */
function withOneSsrc(): PublishedTrack[] {
  const [audio, video] = [audioTrack(), videoTrack()]
  video.rtpParameters.encodings = audio.rtpParameters.encodings
  return [audio, video]
}

describe('a participant with a transport for each stream', () => {
  let roomId: string
  let rtpCapabilities: RtpCapabilities
  let pub: { roomId: string; connectionId: string; streamId: string }
  let sub: typeof pub
  beforeEach(async () => {
    roomId = newRoom()
    ;({ routerRtpCapabilities: rtpCapabilities } = await stack.joinPerStream(roomId, 'pub'))
    await stack.joinPerStream(roomId, 'sub')
    pub = { roomId, connectionId: 'pub', streamId: 'str' }
    sub = { roomId, connectionId: 'sub', streamId: 'str' }
  })

  afterEach(() => stack.service.closeRoom({ roomId, epoch: 1 }))

  const publish = (streamId = 'str', tracks = [audioTrack(), videoTrack()]) =>
    stack.service.publish({ ...publication(roomId, 'pub', streamId, tracks), dtlsParameters: dtls() })
  const transports = async (): Promise<number> => (await stack.inside(roomId)).transports
  const stats = async (connectionId: string, direction: 'send' | 'recv', streamId: string) =>
    (await stack.peer(roomId, connectionId).transport(direction, streamId).transport.getStats())[0]

  it('joins without transports', async () => {
    const joined = await stack.joinPerStream(roomId, 'third')
    expect(NODE_COMMANDS.joinPerStream[1].parse(joined)).toEqual(joined)
    expect(await transports()).toBe(0)
    expect(stack.service.rooms.get(roomId).units).toMatchObject({ connections: 3, transports: 0 })
  })

  it('gets a connected transport for each publication, which ends with it', async () => {
    const [first, second] = [await publish('a'), await publish('b', [videoTrack()])]
    expect(NODE_COMMANDS.publish[1].parse(first)).toEqual(first)
    expect(first.transport?.iceCandidates.length).toBeGreaterThan(0)
    expect(first.transport?.id).not.toBe(second.transport?.id)
    for (const streamId of ['a', 'b']) {
      expect(stack.peer(roomId, 'pub').transport('send', streamId).connected).toBe(true)
    }
    expect(await transports()).toBe(2)
    await stack.service.unpublish({ ...pub, streamId: 'a' })
    expect(await transports()).toBe(1)
    expect(stack.service.rooms.get(roomId).units).toMatchObject({ streams: 1, transports: 1 })
  })

  it.each([
    ['a track that the worker rejects', () => publish('str', withOneSsrc())],
    [
      'DTLS parameters that the worker rejects',
      () =>
        stack.service.publish({
          ...publication(roomId, 'pub', 'str'),
          dtlsParameters: { ...dtls(), role: 'no role' as 'client' },
        }),
    ],
    [
      'capabilities that fit no track',
      async () => {
        await publish('other', [videoTrack()])
        await stack.service.unsubscribe({ ...sub, streamId: 'other' }).catch(() => undefined)
        await stack.service.subscribe({ ...sub, streamId: 'other', rtpCapabilities: audioOnly(rtpCapabilities) })
      },
    ],
  ])('has no transport left after a command with %s', async (_, command) => {
    await expect(command()).rejects.toMatchObject({ code: 'INVALID' })
    const { streams, transports: counted } = stack.service.rooms.get(roomId).units
    expect(counted).toBe(streams)
    expect(await transports()).toBe(streams)
  })

  it('gets a transport for each subscription, whose tracks flow as soon as it is connected', async () => {
    await publish()
    const subscribed = await stack.service.subscribe({ ...sub, rtpCapabilities })
    expect(NODE_COMMANDS.subscribe[1].parse(subscribed)).toEqual(subscribed)
    expect(subscribed.transport?.id).toBe(stack.peer(roomId, 'sub').subscription('str').transport.options.id)
    expect(subscribed.tracks.map(({ paused }) => paused)).toEqual([false, false])
    const transport = stack.peer(roomId, 'sub').transport('recv', 'str')
    expect(transport.connected).toBe(false)
    await stack.service.connectTransport({ ...sub, direction: 'recv', dtlsParameters: dtls() })
    expect(transport.connected).toBe(true)
    expect(await transports()).toBe(2)
    await stack.service.unsubscribe(sub)
    expect(await transports()).toBe(1)
  })

  it('ends the transports of subscriptions with their stream', async () => {
    await publish()
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    await stack.service.unpublish(pub)
    expect(await transports()).toBe(0)
    expect(stack.service.rooms.get(roomId).units).toMatchObject({ transports: 0, consumers: 0 })
  })

  it('names the stream of a transport, unlike one with shared transports', async () => {
    await publish()
    const call = { roomId, direction: 'send' as const, dtlsParameters: dtls() }
    const connect = (connectionId: string, streamId?: string) =>
      stack.service.connectTransport({ ...call, connectionId, ...(streamId !== undefined && { streamId }) })
    await expect(connect('pub')).rejects.toMatchObject({ code: 'INVALID' })
    await expect(connect('pub', 'no')).rejects.toMatchObject({ code: 'NOT_FOUND', subject: 'stream' })
    await connect('pub', 'str')
    await stack.join(roomId, 'native')
    await connect('native')
    expect(await transports()).toBe(3)
  })

  it('sees and is seen by one with shared transports', async () => {
    await stack.join(roomId, 'native')
    await publish()
    await stack.service.publish(publication(roomId, 'native', 'other'))
    const [received, sent] = [
      await stack.service.subscribe({ ...sub, connectionId: 'native', rtpCapabilities }),
      await stack.service.subscribe({ ...sub, streamId: 'other', rtpCapabilities }),
    ]
    expect([received.tracks.length, received.transport]).toEqual([2, undefined])
    expect([sent.tracks.length, typeof sent.transport]).toEqual([2, 'object'])
    expect(await transports()).toBe(4)
  })

  it('is limited on each transport', async () => {
    const limits = { ...UNLIMITED, maxSendKbps: 500, maxRecvKbps: 400, minRecvKbps: 100 }
    await stack.joinPerStream(roomId, 'pub', { limits })
    await stack.joinPerStream(roomId, 'sub', { limits })
    await publish('a')
    await publish('b', [simulcastTrack()])
    for (const streamId of ['a', 'b']) await stack.service.subscribe({ ...sub, streamId, rtpCapabilities })
    expect(await stats('pub', 'send', 'a')).toMatchObject({ maxIncomingBitrate: 464_000 })
    expect(await stats('pub', 'send', 'b')).toMatchObject({ maxIncomingBitrate: 625_000 })
    expect(await stats('sub', 'recv', 'a')).toMatchObject({ maxOutgoingBitrate: 464_000, minOutgoingBitrate: 100_000 })
    expect(await stats('sub', 'recv', 'b')).toMatchObject({ maxOutgoingBitrate: 400_000, minOutgoingBitrate: 100_000 })
  })

  it('is described stream by stream', async () => {
    const { transport } = await publish()
    const { transport: receiving } = await stack.service.subscribe({ ...sub, rtpCapabilities })
    await stack.join(roomId, 'native')
    const described = await stack.service.describeTransports({ roomIds: [roomId] })
    expect(NODE_COMMANDS.describeTransports[1].parse(described)).toEqual(described)
    expect(described.connections.map(({ connectionId }) => connectionId)).toEqual(['native'])
    expect(described.streams?.map(({ transport: { id }, ...where }) => ({ id, ...where }))).toEqual([
      { id: transport?.id, connectionId: 'pub', streamId: 'str', direction: 'send' },
      { id: receiving?.id, connectionId: 'sub', streamId: 'str', direction: 'recv' },
    ])
  })

  it('is described page by page, so that no answer exceeds a message of the bus', async () => {
    await publish()
    const natives = Array.from({ length: 160 }, (_, index) => `native${String(index).padStart(3, '0')}`)
    await Promise.all(natives.map((connectionId) => stack.join(roomId, connectionId)))
    const pageAfter = (after?: string) => stack.service.describeTransports({ roomIds: [roomId], after })
    const first = await pageAfter()
    expect(first).toMatchObject({ next: 'native149', streams: [] })
    const second = await pageAfter(first.next)
    expect(second.next).toBeUndefined()
    expect([first, second].flatMap(({ connections }) => connections.map(({ connectionId }) => connectionId))).toEqual(
      natives,
    )
    expect(second.streams?.map(({ connectionId, streamId }) => [connectionId, streamId])).toEqual([['pub', 'str']])
  })

  it('leaves nothing behind when it leaves, joins again, or the room closes', async () => {
    await publish()
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    await stack.joinPerStream(roomId, 'sub')
    expect(await transports()).toBe(1)
    await stack.service.leave(pub)
    expect(await transports()).toBe(0)
    await publish('str').catch(() => undefined)
    await stack.joinPerStream(roomId, 'pub')
    const publishing = publish()
    await stack.service.closeRoom({ roomId, epoch: 1 })
    await publishing.catch(() => undefined)
    expect(stack.service.counts).toMatchObject({ connections: 0, transports: 0, streams: 0, consumers: 0 })
  })

  it('is listed in the inventory', async () => {
    await publish()
    const { rooms } = await stack.service.inventory({})
    expect(rooms.find((room) => room.roomId === roomId)).toMatchObject({
      connectionIds: ['pub', 'sub'],
      streamIds: ['str'],
    })
  })
})

describe('muted video', () => {
  const mutedIn = async (mutedVideo: 'paused' | 'forwarded') => {
    const roomId = newRoom()
    await stack.joinPerStream(roomId, 'pub', { mutedVideo })
    const call = { ...publication(roomId, 'pub', 'str'), audioActive: false, videoActive: false }
    await stack.service.publish(call)
    const stream = stack.service.rooms.get(roomId).stream('str')
    const paused = () => stream.tracks.map(({ kind, producer }) => `${kind} ${producer.paused}`)
    const atFirst = paused()
    const change = (active: boolean) =>
      stack.service.changeStream({ ...call, audioActive: active, videoActive: active })
    await change(true)
    const unmuted = paused()
    await change(false)
    const muted = paused()
    await stack.service.closeRoom({ roomId, epoch: 1 })
    return { atFirst, unmuted, muted }
  }

  it('is not forwarded, like muted audio', async () => {
    const muted = ['audio true', 'video true']
    expect(await mutedIn('paused')).toEqual({ atFirst: muted, unmuted: ['audio false', 'video false'], muted })
  })

  it('is forwarded for clients that send black pictures', async () => {
    const muted = ['audio true', 'video false']
    expect(await mutedIn('forwarded')).toEqual({ atFirst: muted, unmuted: ['audio false', 'video false'], muted })
  })
})

it('a worker that dies takes the transports of all streams with it', async () => {
  const doomed = await MediaStack.start()
  try {
    const { routerRtpCapabilities: rtpCapabilities } = await doomed.joinPerStream('room', 'pub')
    await doomed.joinPerStream('room', 'sub')
    await doomed.service.publish(publication('room', 'pub', 'str'))
    await doomed.service.subscribe({ roomId: 'room', connectionId: 'sub', streamId: 'str', rtpCapabilities })
    expect(doomed.service.counts.transports).toBe(2)
    const [worker] = doomed.pool.workers
    process.kill(worker?.worker.pid ?? 0, 'SIGKILL')
    await until('the loss is reported', () => doomed.lost.length > 0)
    expect(doomed.lost).toEqual([['room']])
    expect(doomed.service.counts).toMatchObject({ connections: 0, transports: 0, streams: 0, consumers: 0 })
  } finally {
    await doomed.stop()
  }
})

it('100 sessions of participants with a transport for each stream leave no object in the workers', async () => {
  const before = await stack.handlers()
  const session = async (): Promise<void> => {
    const roomId = newRoom()
    const { routerRtpCapabilities: rtpCapabilities } = await stack.joinPerStream(roomId, 'a')
    await stack.joinPerStream(roomId, 'b')
    const opened: (TransportOptions | undefined)[] = []
    for (const [own, other] of [
      ['a', 'b'],
      ['b', 'a'],
    ] as const) {
      opened.push((await stack.service.publish(publication(roomId, own, own))).transport)
      const call = { roomId, connectionId: other, streamId: own, rtpCapabilities }
      opened.push((await stack.service.subscribe(call)).transport)
    }
    expect(new Set(opened.map((transport) => transport?.id)).size).toBe(4)
    await stack.service.closeRoom({ roomId, epoch: 1 })
  }
  for (let round = 0; round < 10; round++) await Promise.all(Array.from({ length: 10 }, session))
  await until('the workers have ended them', async () => {
    return JSON.stringify(await stack.handlers()) === JSON.stringify(before) || undefined
  })
})
