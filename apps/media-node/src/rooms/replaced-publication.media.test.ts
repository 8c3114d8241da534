import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import { NODE_COMMANDS, type PublishedTrack, type RtpCapabilities } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom } from './fixtures/publisher.js'
import { audioTrack, dtls, publication, simulcastTrack, videoTrack } from './fixtures/samples.js'
import type { Stream } from './stream.js'
import type { Subscription } from './subscription.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())

const joins = {
  'shared transports': (roomId: string, connectionId: string) => stack.join(roomId, connectionId),
  'a transport for each stream': (roomId: string, connectionId: string) => stack.joinPerStream(roomId, connectionId),
}
type Kind = keyof typeof joins

describe.each<[Kind, Kind]>([
  ['shared transports', 'shared transports'],
  ['shared transports', 'a transport for each stream'],
  ['a transport for each stream', 'shared transports'],
  ['a transport for each stream', 'a transport for each stream'],
])('a publisher with %s and a subscriber with %s', (publishing, subscribing) => {
  const isPerStream = publishing === 'a transport for each stream'
  const subscribesPerStream = subscribing === 'a transport for each stream'
  let roomId: string
  let rtpCapabilities: RtpCapabilities
  let pub: { roomId: string; connectionId: string; streamId: string }
  let sub: typeof pub
  let stream: Stream
  beforeEach(async () => {
    roomId = newRoom()
    await joins[publishing](roomId, 'pub')
    ;({ routerRtpCapabilities: rtpCapabilities } = await joins[subscribing](roomId, 'sub'))
    pub = { roomId, connectionId: 'pub', streamId: 'str' }
    sub = { roomId, connectionId: 'sub', streamId: 'str' }
    await stack.service.publish({ ...publication(roomId, 'pub', 'str'), dtlsParameters: dtls() })
    stream = stack.service.rooms.get(roomId).stream('str')
    stack.events.length = 0
  })
  afterEach(() => stack.service.closeRoom({ roomId, epoch: 1 }))

  const replace = (tracks: PublishedTrack[] = [audioTrack(), videoTrack()]) =>
    stack.service.replaceMedia({ ...pub, tracks, ...(isPerStream && { dtlsParameters: dtls('CD') }) })
  const subscribe = (isReplacement = false) =>
    stack.service.subscribe({ ...sub, rtpCapabilities, ...(isReplacement && { replace: true }) })
  /** The subscriber has its tracks and its transport. */
  const connect = async (octet?: string): Promise<void> => {
    await stack.service.connectTransport({
      ...sub,
      ...(!subscribesPerStream && { streamId: undefined }),
      direction: 'recv',
      dtlsParameters: dtls(octet),
    })
    if (!subscribesPerStream) await stack.service.changeSubscription({ ...sub, audio: true, video: true })
  }
  const subscription = (): Subscription => stack.peer(roomId, 'sub').subscription('str')
  const open = ({ consumers }: Subscription): boolean[] => consumers.map(({ closed }) => !closed)
  const producers = (): string[] => stream.tracks.map(({ producer }) => producer.id)
  const sources = ({ consumers }: Subscription): string[] => consumers.map(({ producerId }) => producerId)

  it('has the new tracks without another stream, and reports them once to the subscriber', async () => {
    await subscribe()
    const former = producers()
    const before = stack.service.rooms.get(roomId).units
    const answer = await replace()
    expect(NODE_COMMANDS.replaceMedia[1].parse(answer)).toEqual(answer)
    expect(answer.transport?.id).toBe(isPerStream ? stream.transport?.options.id : undefined)
    expect(producers().filter((id) => former.includes(id))).toEqual([])
    expect(stack.service.rooms.get(roomId).stream('str')).toBe(stream)
    expect(stack.service.rooms.get(roomId).units).toEqual({
      ...before,
      transports: (before.transports ?? 0) + (isPerStream ? 1 : 0),
    })
    const reported = { kind: 'subscriptionReplaced', epoch: 1, to: ['sub'], connectionId: 'pub', streamId: 'str' }
    expect(stack.events.map(({ event }) => event)).toEqual([reported])
  })

  it('keeps the former tracks of the subscriber until it has the new ones', async () => {
    await subscribe()
    await connect()
    const former = subscription()
    await replace()
    expect(open(former)).toEqual([true, true])
    await subscribe(true)
    expect(sources(subscription())).toEqual(producers())
    expect(open(former)).toEqual([true, true])
    expect(former.transport === subscription().transport).toBe(!subscribesPerStream)
    await connect(subscribesPerStream ? 'EF' : undefined)
    expect(open(former)).toEqual([false, false])
    expect(open(subscription())).toEqual([true, true])
    expect(subscription().consumers.map(({ paused }) => paused)).toEqual([false, false])
    expect(former.transport.transport.closed).toBe(subscribesPerStream)
    expect(subscription().transport.transport.closed).toBe(false)
  })

  it('ends the former tracks and their transport after a while', async () => {
    const { length } = producers()
    const former = stream.transport
    stream.formerMediaMs = 20
    await replace()
    const counts = { transports: (isPerStream ? 1 : 2) + (subscribesPerStream ? 0 : 2), producers: length }
    await until('the former media has ended', async () => {
      const { transports, producers: left } = await stack.inside(roomId)
      return transports === counts.transports && left === counts.producers
    })
    expect(former?.transport.closed).toBe(isPerStream)
  })

  it('has at most one former publication, however often it is replaced', async () => {
    for (let round = 0; round < 5; round++) await replace()
    expect((await stack.inside(roomId)).producers).toBe(4)
    await stack.service.unpublish(pub)
    expect((await stack.inside(roomId)).producers).toBe(0)
  })

  it('keeps its mutes, and the former tracks follow them', async () => {
    const [, formerVideo] = stream.tracks
    await stack.service.changeStream({ ...pub, videoActive: false })
    await replace()
    expect(stream.tracks.map(({ producer }) => producer.paused)).toEqual([false, true])
    await stack.service.changeStream({ ...pub, videoActive: true })
    await stack.service.changeStream({ ...pub, audioActive: false })
    expect(stream.tracks.map(({ producer }) => producer.paused)).toEqual([true, false])
    expect(formerVideo?.producer.paused).toBe(false)
  })

  it('may have other layers', async () => {
    await replace([audioTrack(), simulcastTrack()])
    expect(stream.layerKbps).toEqual([100, 300, 900])
    await stack.service.changeStream({ ...pub, layerKbps: [100, 200, 0] })
    expect(stream.layerKbps).toEqual([100, 200, 0])
  })

  it('refuses other kinds of tracks, another codec and an unknown stream, and leaves the stream as it is', async () => {
    const before = producers()
    const held = await stack.inside(roomId)
    for (const tracks of [[audioTrack()], [videoTrack(), videoTrack()]]) {
      await expect(replace(tracks)).rejects.toMatchObject({ code: 'INVALID' })
    }
    await expect(replace([audioTrack(), videoTrack('video/H264')])).rejects.toMatchObject({ code: 'CODEC_REFUSED' })
    const other = stack.service.replaceMedia({ ...pub, streamId: 'no', tracks: [audioTrack()] })
    await expect(other).rejects.toMatchObject({ code: 'NOT_FOUND', subject: 'stream' })
    const theirs = stack.service.replaceMedia({ ...sub, tracks: [audioTrack(), videoTrack()] })
    await expect(theirs).rejects.toMatchObject({ code: 'NOT_FOUND', subject: 'stream' })
    expect(producers()).toEqual(before)
    expect(await stack.inside(roomId)).toEqual(held)
  })

  it('subscribes a newcomer to the new tracks', async () => {
    await replace()
    await subscribe()
    expect(sources(subscription())).toEqual(producers())
    expect(stack.events).toEqual([])
  })

  it('leaves nothing behind when it leaves', async () => {
    await subscribe()
    await replace()
    await stack.service.leave(pub)
    await stack.service.leave(sub)
    expect(await stack.inside(roomId)).toEqual({ transports: 0, producers: 0, consumers: 0 })
    expect(stack.service.counts).toMatchObject({ transports: 0, streams: 0, consumers: 0 })
  })
})
