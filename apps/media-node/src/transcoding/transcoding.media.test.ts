import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { audioTrack, publication, videoTrack } from '../rooms/fixtures/samples.js'
import type { PlainSubscriber, Session } from './fixtures/plain-subscriber.js'
import { programs, receives, TranscodingTestbed } from './fixtures/testbed.js'

const VP8_SESSION = { videoCodec: 'VP8', allowTranscoding: true } as const
const H264_SESSION = { videoCodec: 'H264', allowTranscoding: true } as const
const VP9_SESSION = { videoCodec: 'VP9', allowTranscoding: true } as const
const NONE_SESSION = { videoCodec: 'NONE', allowTranscoding: false } as const

let testbed: TranscodingTestbed
beforeAll(async () => void (testbed = await TranscodingTestbed.start({ size: 2, consumersPerRouter: 60 })))
afterEach(() => testbed.reset())
afterAll(() => testbed.stop())

/** The pictures are complete, and a decoder accepts them. */
async function expectDecodable(subscriber: PlainSubscriber): Promise<void> {
  const pictures = await subscriber.decode()
  expect(pictures.length).toBeGreaterThan(5)
  for (const { width, height } of pictures) expect([width, height]).toEqual([320, 180])
}

describe('a subscriber that cannot decode the published video', () => {
  it.each<[string, Session, 'VP8' | 'H264', 'VP8' | 'VP9' | 'H264']>([
    ['an H.264-only one in a VP8 session', VP8_SESSION, 'VP8', 'H264'],
    ['a VP8-only one of an H.264 publisher in a VP8 session', VP8_SESSION, 'H264', 'VP8'],
    ['a VP8-only one in an H.264 session', H264_SESSION, 'H264', 'VP8'],
    ['an H.264-only one of a VP8 publisher in an H.264 session', H264_SESSION, 'VP8', 'H264'],
    ['a VP9-only one of an H.264 publisher in a VP9 session', VP9_SESSION, 'H264', 'VP9'],
    ['an H.264-only one without a forced codec', NONE_SESSION, 'VP8', 'H264'],
    ['a VP8-only one without a forced codec', NONE_SESSION, 'H264', 'VP8'],
  ])('%s gets it transcoded, others get it as it is', async (_, session, from, to) => {
    const publisher = await testbed.publish(session, { codec: from })
    const published = publisher.stream.track('video')!.producer.id
    const [same, other] = [await testbed.subscribe(publisher, [from]), await testbed.subscribe(publisher, [to])]
    const both = await testbed.subscribe(publisher, [from, to])
    expect([same.video!.producerId, both.video!.producerId]).toEqual([published, published])
    expect(other.video!.producerId).not.toBe(published)
    expect([same.codec, other.codec, other.kinds]).toEqual([from, to, ['audio', 'video']])
    await receives(other, 25)
    await expectDecodable(other)
    expect(other.audioPackets).toBeGreaterThan(0)
    expect(testbed.count).toBe(1)
  })

  it.each<[string, Session, 'VP8' | 'H264', 'VP8' | 'H264']>([
    ['H.264-only in a VP8 session', { videoCodec: 'VP8', allowTranscoding: false }, 'VP8', 'H264'],
    ['VP8-only of an H.264 camera in a VP8 session', { videoCodec: 'VP8', allowTranscoding: false }, 'H264', 'VP8'],
  ])('%s, without allowTranscoding gets audio only', async (_, session, from, to) => {
    const publisher = await testbed.publish(session, { codec: from })
    const other = await testbed.subscribe(publisher, [to])
    expect(other.kinds).toEqual(['audio'])
    expect([testbed.count, programs()]).toEqual([0, []])
  })

  it('may publish H.264 in a VP8 session, but no codec that the session does not have', async () => {
    const { room } = await testbed.publish(VP8_SESSION)
    const h264 = videoTrack('video/H264', { 'packetization-mode': 1, 'profile-level-id': '42e01f' })
    await testbed.stack.service.publish(publication(room.id, 'first', 'own', [audioTrack(), h264]))
    const vp9 = publication(room.id, 'first', 'another', [videoTrack('video/VP9', { 'profile-id': 0 })])
    await expect(testbed.stack.service.publish(vp9)).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('gets audio only when the node has no capacity, and video as soon as there is some', async () => {
    const publishers = [await testbed.publish(VP8_SESSION), await testbed.publish(VP8_SESSION)] as const
    testbed.transcoding.cores = 0
    try {
      expect((await testbed.subscribe(publishers[0], ['H264'])).kinds).toEqual(['audio', 'video'])
      expect((await testbed.subscribe(publishers[1], ['H264'])).kinds).toEqual(['audio'])
      expect((await testbed.subscribe(publishers[0], ['H264'])).kinds).toEqual(['audio', 'video'])
    } finally {
      testbed.transcoding.cores = 64
    }
    expect((await testbed.subscribe(publishers[1], ['H264'])).kinds).toEqual(['audio', 'video'])
  })
})

describe('the transcoding of a video', () => {
  it('runs once for three subscribers, and ends some time after the last one', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const receivers = publisher.stream.receivers
    const first = await Promise.all([testbed.subscribe(publisher, ['H264']), testbed.subscribe(publisher, ['H264'])])
    const third = await testbed.subscribe(publisher, ['H264'])
    const subscribers = [...first, third]
    await Promise.all(subscribers.map((subscriber) => receives(subscriber)))
    expect([programs().length, testbed.count]).toEqual([1, 1])
    expect(publisher.room.units).toMatchObject({ transcodings: 1 })
    expect(publisher.stream.receivers).toBe(receivers + 4)
    await first[0].unsubscribe()
    await first[1].unsubscribe()
    await receives(third)
    await third.unsubscribe()
    const again = await testbed.subscribe(publisher, ['H264'])
    await receives(again)
    expect(testbed.count).toBe(1)
    await again.unsubscribe()
    await until('the transcoding has ended', () => testbed.count === 0 && programs().length === 0)
    expect(publisher.stream.receivers).toBe(receivers)
    expect(await testbed.stack.inside(publisher.room.id)).toMatchObject({ producers: 2, consumers: 0 })
  })

  it('pauses while the publisher is muted, and continues with a key frame', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    await receives(subscriber)
    await publisher.mute()
    await until('the subscriber knows of the pause', () => subscriber.video!.producerPaused)
    const muted = subscriber.pictures.length
    await publisher.unmute()
    await until('the subscriber knows of its end', () => !subscriber.video!.producerPaused)
    await receives(subscriber)
    expect(subscriber.pictures.slice(muted).some(({ isKey }) => isKey)).toBe(true)
    await expectDecodable(subscriber)
  })

  it('of a muted publisher begins when it unmutes', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    await publisher.mute()
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    await until('the program runs', () => programs().length === 1)
    await publisher.unmute()
    await receives(subscriber)
  })

  it('answers a key frame request of a subscriber with a key frame', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    await receives(subscriber, 30)
    const keyFrames = (): number => subscriber.pictures.filter(({ isKey }) => isKey).length
    for (let requests = 1; requests <= 3; requests++) {
      const before = keyFrames()
      await subscriber.video!.requestKeyFrame()
      await until('a key frame arrives', () => keyFrames() > before)
    }
    await expectDecodable(subscriber)
  })

  it('continues with another program when its program is killed or suspended', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    const consumer = subscriber.video
    for (const signal of ['SIGKILL', 'SIGSTOP'] as const) {
      await receives(subscriber)
      const [former] = programs()
      process.kill(former!, signal)
      await until('another program runs', () => programs().some((pid) => pid !== former), 30_000)
      const before = subscriber.pictures.length
      await receives(subscriber)
      expect(subscriber.pictures.slice(before).some(({ isKey }) => isKey)).toBe(true)
    }
    expect(subscriber.video).toBe(consumer)
    const timestamps = subscriber.pictures.map(({ timestamp }) => timestamp)
    for (const [at, timestamp] of timestamps.entries())
      if (at > 0) expect((timestamp - timestamps[at - 1]!) | 0).toBeGreaterThanOrEqual(0)
    expect(testbed.count).toBe(1)
  }, 90_000)

  it.each<[string, (publisher: Awaited<ReturnType<TranscodingTestbed['publish']>>) => unknown]>([
    ['is unpublished', (publisher) => publisher.leave()],
    ['is in a room that closes', ({ room }) => testbed.stack.service.closeRoom({ roomId: room.id, epoch: 1 })],
  ])('ends at once when its stream %s', async (_, end) => {
    const publisher = await testbed.publish(VP8_SESSION)
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    await receives(subscriber)
    await end(publisher)
    expect(testbed.count).toBe(0)
    await until('its program has ended', () => programs().length === 0)
  })

  it('follows when another video is forwarded for the stream, also on a node without capacity for more', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const other = await testbed.publishToo(publisher, 'testsrc2=size=160x90:rate=25')
    const subscriber = await testbed.subscribe(publisher, ['H264'])
    await receives(subscriber)
    testbed.transcoding.cores = 0
    try {
      publisher.stream.replaceMedia(new Map([['video', other.stream.track('video')!]]))
      await subscriber.subscribe(true)
    } finally {
      testbed.transcoding.cores = 64
    }
    await receives(subscriber, 25)
    for (const { width, height } of await subscriber.decode()) expect([width, height]).toEqual([160, 90])
    await until('the former video is not transcoded any more', () => testbed.count === 1 && programs().length === 1)
    publisher.stream.replaceMedia(new Map())
  })

  it('ends with the worker of its room', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    await receives(await testbed.subscribe(publisher, ['H264']))
    const { worker } = publisher.room.routers[0]!.worker
    process.kill(worker.pid, 'SIGKILL')
    await until('the transcoding has ended', () => testbed.count === 0 && programs().length === 0)
    await until('another worker runs', () => testbed.stack.pool.workers.size === 2)
  })

  it('also serves subscribers on another router of the room', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const near = await testbed.subscribe(publisher, ['H264'])
    await testbed.fillRouter(publisher)
    const far = await testbed.subscribe(publisher, ['H264'])
    expect(testbed.routerOf(far)).not.toBe(testbed.routerOf(near))
    await Promise.all([receives(near), receives(far, 25)])
    await expectDecodable(far)
    expect(testbed.count).toBe(1)
    await publisher.mute()
    await until('both know of the pause', () => near.video!.producerPaused && far.video!.producerPaused)
    await publisher.unmute()
    await Promise.all([receives(near), receives(far)])
  })

  it('ends some time after its only subscriber has left', async () => {
    const publisher = await testbed.publish(VP8_SESSION)
    const { options } = await testbed.subscribe(publisher, ['H264'])
    await testbed.stack.service.leave(options)
    await until('its program has ended', () => testbed.count === 0 && programs().length === 0)
  })
})
