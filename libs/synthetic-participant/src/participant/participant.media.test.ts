/** @quiet It measures the loss of packets. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { until } from '@session-service/local-stack'
import { BareSfu } from '../sfu/bare-sfu.js'
import { LossyRelay } from '../fixtures/lossy-relay.js'
import { SyntheticParticipant } from './participant.js'
import type { JoinOptions } from './participant-types.js'
import type { Subscription } from '../tracks/subscription.js'

const video = (subscription: Subscription) => {
  const { video: stats } = subscription.stats()
  if (!stats) throw new Error('the subscription has no video')
  return stats
}
const audio = (subscription: Subscription) => {
  const { audio: stats } = subscription.stats()
  if (!stats) throw new Error('the subscription has no audio')
  return stats
}
const flows = (subscription: Subscription, packets = 30, deadlineMs?: number): Promise<unknown> =>
  until(`${packets} more packets of both kinds and a key frame`, counter(subscription, packets), deadlineMs)

function counter(subscription: Subscription, packets: number): () => boolean {
  const from = { audio: audio(subscription).packets, video: video(subscription).packets }
  return () =>
    audio(subscription).packets >= from.audio + packets &&
    video(subscription).packets >= from.video + packets &&
    video(subscription).keyFrames > 0
}

/** Waits until all video packets have arrived: a busy machine may drop some, which are retransmitted; audio is not. */
async function expectNoLoss(subscription: Subscription): Promise<void> {
  await until('every packet of the video to have come', () => video(subscription).lost === 0)
  expect(video(subscription).undecryptable).toBe(0)
  expect(audio(subscription)).toMatchObject({ lost: 0, undecryptable: 0 })
}

describe('synthetic participants in a bare room', () => {
  let sfu: BareSfu
  const present: SyntheticParticipant[] = []

  beforeAll(async () => {
    sfu = await BareSfu.start()
  })
  afterEach(async () => {
    const all = present.splice(0)
    await Promise.all(all.map((participant) => participant.leave().catch(() => participant.close())))
    expect(all.flatMap(({ violations }) => violations)).toEqual([])
  })
  afterAll(() => sfu.stop())

  async function join(options?: JoinOptions): Promise<SyntheticParticipant> {
    const participant = await SyntheticParticipant.join(sfu.token(), options)
    present.push(participant)
    return participant
  }

  it('receive the media of each other without loss', async () => {
    const ann = await join({ clientData: '{"name":"ann"}' })
    const bob = await join()
    await ann.waitFor('connectionCreated', ({ connectionId }) => connectionId === bob.connectionId)
    expect(bob.joined.snapshot.connections.map(({ clientData }) => clientData)).toContain('{"name":"ann"}')
    const [ofAnn, ofBob] = await Promise.all([ann.publish({ width: 320, height: 180 }), bob.publish()])
    const [atBob, atAnn] = await Promise.all([bob.subscribe(ofAnn.streamId), ann.subscribe(ofBob.streamId)])
    await Promise.all([flows(atBob, 100), flows(atAnn, 100)])
    await expectNoLoss(atBob)
    await expectNoLoss(atAnn)
    expect(video(atBob)).toMatchObject({ width: 320, height: 180 })
    expect(video(atAnn)).toMatchObject({ width: 640, height: 360 })
    expect(video(atAnn).frames).toBeGreaterThan(video(atAnn).keyFrames)
    expect(video(atBob).firstKeyFrameAt).toBeGreaterThanOrEqual(video(atBob).firstPacketAt ?? Infinity)
    expect(ann.transportFigures().recv).toMatchObject({ strays: 0, refusedSends: 0 })
    // Packets before the start of the consumer do not count; no more than the sent packets may arrive.
    expect(audio(atBob).packets).toBeLessThanOrEqual(ofAnn.stats().audio?.packets ?? 0)
  })

  it('answer a request for a key frame', async () => {
    const [ann, bob] = [await join(), await join()]
    const { streamId, stats } = await ann.publish({ audio: false })
    const subscription = await bob.subscribe(streamId)
    await until('the first key frame', () => video(subscription).keyFrames > 0)
    const { keyFrames } = video(subscription)
    subscription.requestKeyFrame()
    await until('another key frame', () => video(subscription).keyFrames > keyFrames)
    expect(stats().video?.keyFrameRequests).toBeGreaterThan(0)
    expect(video(subscription).pictureLossesSent).toBe(1)
  })

  it('mute and unmute', async () => {
    const [ann, bob] = [await join(), await join()]
    const { streamId } = await ann.publish()
    const subscription = await bob.subscribe(streamId)
    await flows(subscription)
    await ann.changeStream(streamId, { audioActive: false })
    const { params } = await bob.waitFor('streamPropertyChanged')
    expect(params).toMatchObject({ streamId, changedProperty: 'audioActive', newValue: false, reason: 'publishAudio' })
    const { packets } = audio(subscription)
    const videoBefore = video(subscription).packets
    await until('half a second of video', () => video(subscription).packets > videoBefore + 40)
    // One packet may have been in transit.
    expect(audio(subscription).packets).toBeLessThanOrEqual(packets + 1)
    await ann.changeStream(streamId, { audioActive: true })
    await flows(subscription)
    await ann.changeStream(streamId, { videoActive: false })
    await ann.changeStream(streamId, { videoActive: true })
    const { keyFrames } = video(subscription)
    await until('a key frame after unmuting the video', () => video(subscription).keyFrames > keyFrames)
    await expectNoLoss(subscription)
  })

  it('pause and resume a subscription', async () => {
    const [ann, bob] = [await join(), await join()]
    const { streamId } = await ann.publish()
    const subscription = await bob.subscribe(streamId)
    await flows(subscription)
    await bob.changeSubscription(streamId, { video: false })
    const { packets, keyFrames } = video(subscription)
    const audioBefore = audio(subscription).packets
    await until('half a second of audio', () => audio(subscription).packets > audioBefore + 25)
    expect(video(subscription).packets - packets).toBeLessThanOrEqual(4)
    await bob.changeSubscription(streamId, { video: true })
    await until('video again, from a key frame', () => video(subscription).keyFrames > keyFrames)
    await expectNoLoss(subscription)
  })

  it('end streams and subscriptions', async () => {
    const [ann, bob] = [await join(), await join()]
    const first = await ann.publish()
    const second = await ann.publish({ video: false, tone: 1000 })
    const subscription = await bob.subscribe(first.streamId)
    const audioOnly = await bob.subscribe(second.streamId)
    await flows(subscription)
    await until('the second stream', () => audio(audioOnly).packets > 20)
    await bob.unsubscribe(first.streamId)
    await ann.unpublish(second.streamId)
    await bob.waitFor(
      'streamDestroyed',
      ({ streamId, reason }) => streamId === second.streamId && reason === 'unpublish',
    )
    expect(bob.subscriptions).toEqual([])
    expect(bob.streams.map(({ streamId }) => streamId)).toEqual([first.streamId])
    expect(ann.published.map(({ streamId }) => streamId)).toEqual([first.streamId])
    await expect(bob.subscribe(second.streamId)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(bob.unpublish(first.streamId)).rejects.toMatchObject({ code: 'NOT_FOUND' })
  })

  it('receive the simulcast layers that fit their links', async () => {
    const ann = await join()
    const { streamId } = await ann.publish({ simulcast: true, kbps: 1200, width: 640, height: 360 })
    const wide = await join()
    const narrow = await join({ capacityKbps: 250 })
    const [atWide, atNarrow] = await Promise.all([wide.subscribe(streamId), narrow.subscribe(streamId)])
    await until(
      'the largest layer',
      () => video(atWide).width === 640 && video(atWide).currentLayer?.spatialLayer === 2,
    )
    await until('a smaller layer over the narrow path', () => {
      const { width = 640, currentLayer } = video(atNarrow)
      return width < 640 && (currentLayer?.spatialLayer ?? 2) < 2
    })
    await wide.changeSubscription(streamId, { preferredLayers: { spatialLayer: 0, temporalLayer: 0 } })
    await until(
      'the smallest layer',
      () => video(atWide).width === 160 && video(atWide).currentLayer?.spatialLayer === 0,
    )
    await until('every packet to have come', () => video(atNarrow).lost + video(atWide).lost === 0)
    expect(video(atNarrow).undecryptable + video(atWide).undecryptable).toBe(0)
  }, 30_000)

  it('reconnect after an ICE restart', async () => {
    const [ann, bob] = [await join(), await join()]
    const { streamId } = await ann.publish()
    const subscription = await bob.subscribe(streamId)
    await flows(subscription)
    const before = { send: ann.transportFigures().send, recv: bob.transportFigures().recv }
    await ann.restartIce('send')
    await bob.restartIce('recv')
    await flows(subscription)
    expect(ann.transportFigures().send.localPort).toBe(before.send.localPort)
    await ann.restartIce('send', { newPort: true })
    await bob.restartIce('recv', { newPort: true })
    await flows(subscription)
    expect(ann.transportFigures().send.localPort).not.toBe(before.send.localPort)
    expect(bob.transportFigures().recv.localPort).not.toBe(before.recv.localPort)
    expect(bob.transportFigures().recv.iceAnswers).toBeGreaterThan(before.recv.iceAnswers + 1)
  })

  it('resume after a loss of the socket without interrupting media', async () => {
    const [ann, bob] = [await join(), await join()]
    const { streamId } = await ann.publish()
    const subscription = await bob.subscribe(streamId)
    await flows(subscription)
    bob.dropSocket()
    await bob.socketClosed
    await flows(subscription)
    await expect(bob.signal({ data: 'lost' })).rejects.toThrow()
    await ann.signal({ type: 'chat', data: 'meanwhile' })
    const { snapshot } = await bob.resume()
    expect(snapshot.streams.map((stream) => stream.streamId)).toEqual([streamId])
    await ann.signal({ type: 'chat', data: 'again', to: [bob.connectionId] })
    const { params } = await bob.waitFor('signal')
    expect(params).toEqual({ type: 'signal:chat', data: 'again', from: ann.connectionId })
    await expectNoLoss(subscription)
  })

  it('fill a room in which twenty publish and each receives five others', async () => {
    const room = await Promise.all(Array.from({ length: 20 }, () => join()))
    const streams = await Promise.all(room.map((participant) => participant.publish({ kbps: 150 })))
    const subscriptions = await Promise.all(
      room.flatMap((participant, at) =>
        [1, 2, 3, 4, 5].map((distance) => participant.subscribe(streams[(at + distance) % 20]?.streamId ?? '')),
      ),
    )
    const allFlow = (): Promise<unknown> =>
      Promise.all(subscriptions.map((subscription) => flows(subscription, 30, 60_000)))
    const received = () => subscriptions.flatMap((subscription) => [audio(subscription), video(subscription)])
    const sum = (of: 'lost' | 'packets'): number => received().reduce((total, stats) => total + stats[of], 0)
    // A busy machine may drop packets while all participants join at once.
    await allFlow()
    const before = { lost: sum('lost'), packets: sum('packets') }
    await allFlow()
    expect(sum('lost') - before.lost).toBeLessThan((sum('packets') - before.packets) / 50)
    expect(received().every(({ undecryptable }) => undecryptable === 0)).toBe(true)
  }, 120_000)
})

/** Runs a test with two participants behind a relay, then closes them. */
async function overRelay(
  run: (met: { relay: LossyRelay; ann: SyntheticParticipant; bob: SyntheticParticipant }) => Promise<void>,
): Promise<void> {
  let mediaPort = 0
  const relay = await LossyRelay.open(() => mediaPort)
  const sfu = await BareSfu.start({ relayPort: relay.port })
  mediaPort = await sfu.mediaPort()
  const ann = await SyntheticParticipant.join(sfu.token())
  const bob = await SyntheticParticipant.join(sfu.token())
  try {
    await run({ relay, ann, bob })
  } finally {
    await Promise.all([ann.close(), bob.close(), sfu.stop()])
    relay.close()
  }
}

describe('synthetic participants behind a lossy network', () => {
  it('repair losses in both directions', () =>
    overRelay(async ({ relay, ann, bob }) => {
      const { streamId, stats } = await ann.publish()
      const subscription = await bob.subscribe(streamId)
      await flows(subscription)
      relay.lossRate = 0.05
      await until(
        'packets lost, and sent again both ways',
        () => relay.lost > 6 && (stats().video?.resent ?? 0) > 3 && video(subscription).nacksSent > 3,
      )
      relay.lossRate = 0
      await flows(subscription)
      await until('the video to be whole again', () => video(subscription).lost === 0)
    }))

  it('request a key frame after an unrepairable loss', () =>
    overRelay(async ({ relay, ann, bob }) => {
      const { streamId, stats } = await ann.publish({ audio: false })
      const subscription = await bob.subscribe(streamId)
      await until('a picture', () => video(subscription).keyFrames > 0)
      relay.lossRate = 1
      const { packets = 0 } = stats().video ?? {}
      await until('three seconds of blackout', () => (stats().video?.packets ?? 0) > packets + 200)
      relay.lossRate = 0
      const { keyFrames } = video(subscription)
      await until('another key frame', () => video(subscription).keyFrames > keyFrames)
      expect(video(subscription).lost).toBeGreaterThan(0)
    }))
})
