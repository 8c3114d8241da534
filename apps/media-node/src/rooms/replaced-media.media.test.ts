import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { RtpCapabilities } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import type { types } from 'mediasoup'
import { PublishedTrack } from '../tracks/published-track.js'
import { MediaStack } from './fixtures/media-stack.js'
import { publisherAndSubscriber } from './fixtures/publisher.js'
import { audioTrack, dtls, publication, simulcastTrack, videoTrack } from './fixtures/samples.js'
import type { Stream } from './stream.js'
import type { Subscription } from './subscription.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())

describe('replaced media of a stream', () => {
  let roomId: string
  let rtpCapabilities: RtpCapabilities
  let sub: { roomId: string; connectionId: string; streamId: string }
  let pub: typeof sub
  let stream: Stream
  beforeEach(async () => {
    ;({ roomId, rtpCapabilities, sub, pub } = await publisherAndSubscriber(stack))
    await stack.service.connectTransport({ ...sub, direction: 'recv', dtlsParameters: dtls() })
    stream = stack.service.rooms.get(roomId).stream('str')
    stack.events.length = 0
  })

  const subscribe = (replace?: boolean) =>
    stack.service.subscribe({ ...sub, rtpCapabilities, ...(replace !== undefined && { replace }) })
  const subscription = (): Subscription => stack.peer(roomId, 'sub').subscription('str')
  const reports = () => stack.events.flatMap(({ event }) => (event.kind === 'subscriptionReplaced' ? [event] : []))
  const resume = () => stack.service.changeSubscription({ ...sub, audio: true, video: true })
  const open = ({ consumers }: Subscription): boolean[] => consumers.map(({ closed }) => !closed)
  const report = (...to: string[]) => ({
    kind: 'subscriptionReplaced',
    epoch: 1,
    to,
    connectionId: 'pub',
    streamId: 'str',
  })

  /** A video of the same room that is forwarded instead of the published one. */
  async function replacement(track = videoTrack()): Promise<PublishedTrack> {
    const { roomRouter } = stack.peer(roomId, 'pub')
    const transport = await roomRouter.router.createPlainTransport({
      listenInfo: { protocol: 'udp', ip: '127.0.0.1' },
      comedia: true,
    })
    const rtpParameters = track.rtpParameters as types.RtpParameters
    return new PublishedTrack(await transport.produce({ kind: track.kind, rtpParameters }), roomRouter)
  }

  it('is reported once to each subscriber, whose tracks stay until it has subscribed again and resumed', async () => {
    await subscribe()
    await resume()
    const former = subscription()
    const video = await replacement()
    stream.replaceMedia(new Map([['video', video]]))
    stream.replaceMedia(new Map([['video', video]]))
    expect(reports()).toEqual([report('sub')])
    expect(open(former)).toEqual([true, true])
    const { tracks } = await subscribe(true)
    expect(tracks.map(({ kind, producerId }) => [kind, producerId === video.producer.id])).toEqual([
      ['audio', false],
      ['video', true],
    ])
    expect(subscription()).not.toBe(former)
    expect(open(former)).toEqual([true, true])
    await resume()
    expect(open(former)).toEqual([false, false])
    expect(subscription().consumers.map(({ paused }) => paused)).toEqual([false, false])
    expect(stream.subscriptions.size).toBe(1)
    expect(stack.service.rooms.get(roomId).units.consumers).toBe(2)
    expect(reports()).toHaveLength(1)
  })

  it('is what later subscribers receive', async () => {
    const video = await replacement()
    stream.replaceMedia(new Map([['video', video]]))
    const { tracks } = await subscribe()
    expect(tracks.find(({ kind }) => kind === 'video')?.producerId).toBe(video.producer.id)
    expect(reports()).toEqual([])
    stream.replaceMedia(new Map())
    expect(reports()).toEqual([report('sub')])
  })

  it('ends the former tracks at once when nothing of them flows', async () => {
    await subscribe()
    const former = subscription()
    stream.replaceMedia(new Map([['video', await replacement()]]))
    await subscribe(true)
    expect(open(former)).toEqual([false, false])
  })

  it('is reported again to a client that may have missed it, until it has subscribed again', async () => {
    await subscribe()
    stream.replaceMedia(new Map([['video', await replacement()]]))
    await stack.service.reportSendLimits({ roomId, connectionId: 'sub' })
    expect(reports()).toEqual([report('sub'), report('sub')])
    await subscribe(true)
    await stack.service.reportSendLimits({ roomId, connectionId: 'sub' })
    expect(reports()).toHaveLength(2)
  })

  it('that ends before the client has subscribed again leaves a subscription that can be changed and replaced', async () => {
    const video = await replacement()
    stream.replaceMedia(new Map([['video', video]]))
    await subscribe()
    await resume()
    stream.replaceMedia(new Map())
    video.close()
    await stack.service.changeSubscription({ ...sub, video: false, preferredLayers: { spatialLayer: 0 } })
    await stack.service.changeSubscription({ ...sub, video: true })
    const { tracks } = await subscribe(true)
    expect(tracks.map(({ producerId }) => producerId)).toEqual(stream.tracks.map(({ producer }) => producer.id))
    await resume()
  })

  it('that changes while a subscription is being opened is reported to it, or is what it gets', async () => {
    const video = await replacement()
    const opening = subscribe()
    stream.replaceMedia(new Map([['video', video]]))
    const { tracks } = await opening
    const isNew = tracks.some(({ producerId }) => producerId === video.producer.id)
    expect(reports()).toEqual(isNew ? [] : [report('sub')])
  })

  it('ends the former track of a client that does not subscribe again in time, and nothing else', async () => {
    await subscribe()
    await resume()
    const former = subscription()
    stream.formerMediaMs = 20
    stream.replaceMedia(new Map([['video', await replacement()]]))
    await until('the former video has ended', () => open(former).join() === 'true,false')
    await stack.service.changeSubscription({ ...sub, video: true })
    expect(open(former)).toEqual([true, false])
    await subscribe(true)
    await resume()
    expect(open(subscription())).toEqual([true, true])
    expect((await stack.inside(roomId)).consumers).toBe(2)
  })

  it('ends the former track of a client that subscribes again and never resumes', async () => {
    await subscribe()
    await resume()
    const former = subscription()
    stream.formerMediaMs = 50
    stream.replaceMedia(new Map([['video', await replacement()]]))
    await subscribe(true)
    await until('the former video has ended', () => open(former).join() === 'true,false')
    expect(open(subscription())).toEqual([true, true])
  })

  it('follows when the publisher mutes and unmutes', async () => {
    const video = await replacement()
    stream.replaceMedia(new Map([['video', video]]))
    await stack.service.changeStream({ ...pub, videoActive: false })
    expect([video.paused, stream.track('video')?.paused]).toEqual([true, true])
    await stack.service.changeStream({ ...pub, videoActive: true })
    expect([video.paused, stream.track('video')?.paused]).toEqual([false, false])
  })

  it('ends the report of layers, because a single encoding has none', async () => {
    await stack.service.publish(publication(roomId, 'pub', 'layered', [simulcastTrack(), audioTrack()]))
    const layered = { ...sub, streamId: 'layered', rtpCapabilities }
    await stack.service.subscribe(layered)
    const { consumers } = stack.peer(roomId, 'sub').subscription('layered')
    for (const consumer of consumers)
      if (consumer.kind === 'video') consumer.emit('layerschange', { spatialLayer: 1, temporalLayer: 0 })
    stack.service.rooms
      .get(roomId)
      .stream('layered')
      .replaceMedia(new Map([['video', await replacement()]]))
    await stack.service.subscribe({ ...layered, replace: true })
    expect(stack.events.flatMap(({ event }) => (event.kind === 'layersChanged' ? [event.layers] : []))).toEqual([
      { spatialLayer: 1, temporalLayer: 0 },
      null,
    ])
  })

  it('leaves nothing behind when the stream ends during the replacement', async () => {
    const before = await stack.inside(roomId)
    const video = await replacement()
    await subscribe()
    await resume()
    stream.replaceMedia(new Map([['video', video]]))
    await subscribe(true)
    await stack.service.unpublish(pub)
    const { producers, consumers } = await stack.inside(roomId)
    expect({ producers, consumers }).toEqual({ producers: 0, consumers: 0 })
    expect(before.producers).toBe(2)
    expect(stack.peer(roomId, 'sub').subscriptions.size).toBe(0)
    expect(stack.service.rooms.get(roomId).units).toMatchObject({ streams: 0, consumers: 0 })
  })

  it('leaves no consumer behind when the subscriber unsubscribes during the replacement', async () => {
    await subscribe()
    await resume()
    stream.replaceMedia(new Map([['video', await replacement()]]))
    await subscribe(true)
    await stack.service.unsubscribe(sub)
    expect((await stack.inside(roomId)).consumers).toBe(0)
    expect(stream.subscriptions.size).toBe(0)
    expect(stream.receivers).toBe(0)
  })

  it('without a subscription, a call that replaces one subscribes', async () => {
    const { tracks } = await subscribe(true)
    expect(tracks).toHaveLength(2)
    await expect(subscribe()).rejects.toMatchObject({ code: 'CONFLICT' })
  })
})
