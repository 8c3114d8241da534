import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import {
  descendantsOf,
  type Stack,
  startStack,
  type Subscription,
  SyntheticParticipant,
  udpPortsOf,
  until,
} from '@session-service/testing'

/** One worker serves two participants of the session, the other worker the next two. */
const BUDGET = { MEDIA_NODE_WORKERS: '2', MEDIA_NODE_CONSUMERS_PER_ROUTER: '8' }
const LONG_MS = 20_000
/** Longer than the worker itself repeats its request for a key frame. */
const DEAF_MS = 3_500
/** The duration of ten audio packets. */
const SILENT_MS = 200

let stack: Stack
const present: SyntheticParticipant[] = []
beforeAll(async () => void (stack = await startStack({ nodeEnv: BUDGET })))
afterEach(async () => {
  const all = present.splice(0)
  await Promise.all(all.map((participant) => participant.close()))
  expect(all.flatMap(({ violations }) => violations)).toEqual([])
})
afterAll(() => stack.stop())

async function join(sessionId: string, options?: { capacityKbps: number }): Promise<SyntheticParticipant> {
  const { token } = await stack.api.createConnection(sessionId)
  const participant = await SyntheticParticipant.join(token ?? '', options)
  present.push(participant)
  return participant
}

/** Identifies the worker by its port. */
const workerOf = ({ joined }: SyntheticParticipant): number | undefined => joined.recvTransport.iceCandidates[0]?.port

/** `publisher` and `near` are on one worker, `far` and `narrow` on the other. */
async function spread() {
  const { id } = await stack.api.createSession()
  const [publisher, near] = [await join(id), await join(id)]
  const [far, narrow] = [await join(id), await join(id, { capacityKbps: 250 })]
  expect(workerOf(near)).toBe(workerOf(publisher))
  expect(workerOf(far)).not.toBe(workerOf(publisher))
  expect(workerOf(narrow)).toBe(workerOf(far))
  return { publisher, near, far, narrow }
}

const video = (subscription: Subscription) => {
  const { video: stats } = subscription.stats()
  if (!stats) throw new Error('the subscription has no video')
  return stats
}
const packetsOf = (subscription: Subscription, kind: 'audio' | 'video'): number =>
  subscription.stats()[kind]?.packets ?? 0

async function flows(...subscriptions: Subscription[]): Promise<void> {
  const from = subscriptions.map((one) => [packetsOf(one, 'audio'), packetsOf(one, 'video')] as const)
  await until('audio and video flow, from a key frame on', () =>
    subscriptions.every((one, at) => {
      const [audioFrom = 0, videoFrom = 0] = from[at] ?? []
      const more = packetsOf(one, 'audio') >= audioFrom + 25 && packetsOf(one, 'video') >= videoFrom + 25
      return more && video(one).keyFrames > 0
    }),
  )
}

/** The number of audio packets, once no more arrive. */
async function fallsSilent(subscription: Subscription): Promise<number> {
  let [packets, since] = [packetsOf(subscription, 'audio'), performance.now()]
  await until('no audio packet arrives', () => {
    const [now, at] = [packetsOf(subscription, 'audio'), performance.now()]
    if (now !== packets) [packets, since] = [now, at]
    return at - since > SILENT_MS
  })
  return packets
}

/** Waits for the retransmission of lost video packets, also over a pipe. */
const nothingLost = (...subscriptions: Subscription[]): Promise<unknown> =>
  until('all video packets have arrived', () => subscriptions.every((one) => video(one).lost === 0))

it('delivers media between participants on different workers, in both directions', async () => {
  const { publisher, near, far } = await spread()
  const [one, other] = await Promise.all([publisher.publish({ width: 320, height: 180 }), far.publish()])
  const subscriptions = await Promise.all([
    near.subscribe(one.streamId),
    far.subscribe(one.streamId),
    near.subscribe(other.streamId),
    publisher.subscribe(other.streamId),
  ])
  await flows(...subscriptions)
  await nothingLost(...subscriptions)
  expect(video(subscriptions[1])).toMatchObject({ width: 320, height: 180, undecryptable: 0 })
})

it('delivers a key frame to a late subscriber on another worker after one request', async () => {
  const { publisher, far, narrow } = await spread()
  const { streamId, stats } = await publisher.publish({ keyFrameDeafMs: 300 })
  const first = await far.subscribe(streamId)
  await flows(first)
  const keyFrames = stats().video?.keyFrames ?? 0
  const late = await narrow.subscribe(streamId)
  await until('the first frame arrives', () => video(late).firstKeyFrameAt)
  expect(stats().video?.keyFrames).toBeGreaterThan(keyFrames)
  const { keyFrames: seen } = video(late)
  late.requestKeyFrame()
  await until('the requested key frame arrives', () => video(late).keyFrames > seen)
})

it('requests a key frame until the publisher sends one, also after a pause', async () => {
  const { publisher, far } = await spread()
  const { streamId } = await publisher.publish({ keyFrameDeafMs: DEAF_MS })
  const subscription = await far.subscribe(streamId)
  await flows(subscription)
  await far.changeSubscription(streamId, { video: false })
  const { keyFrames } = video(subscription)
  await far.changeSubscription(streamId, { video: true })
  await until('a key frame arrives', () => video(subscription).keyFrames > keyFrames)
})

it('stops packets on the other worker during a mute, and delivers a key frame afterwards', async () => {
  const { publisher, far } = await spread()
  const { streamId } = await publisher.publish()
  const subscription = await far.subscribe(streamId)
  await flows(subscription)
  await publisher.changeStream(streamId, { audioActive: false, videoActive: false })
  const before = { audio: await fallsSilent(subscription), keyFrames: video(subscription).keyFrames }
  await publisher.changeStream(streamId, { videoActive: true })
  await until('a key frame arrives', () => video(subscription).keyFrames > before.keyFrames)
  await publisher.changeStream(streamId, { audioActive: true })
  // Delayed packets of a busy machine may have arrived.
  expect(packetsOf(subscription, 'audio')).toBeLessThanOrEqual(before.audio + 2)
  await flows(subscription)
})

it('adapts layers to the path and the preference of each subscriber', async () => {
  const { publisher, far, narrow } = await spread()
  const { streamId } = await publisher.publish({ simulcast: true, kbps: 1200, width: 640, height: 360 })
  const [wide, thin] = await Promise.all([far.subscribe(streamId), narrow.subscribe(streamId)])
  const shows = (width: number, layer: number) => (): boolean =>
    video(wide).width === width && video(wide).currentLayer?.spatialLayer === layer
  await until('the largest layer', shows(640, 2), LONG_MS)
  await until(
    'a smaller layer over the narrow path',
    () => (video(thin).width ?? 640) < 640 && (video(thin).currentLayer?.spatialLayer ?? 2) < 2,
    LONG_MS,
  )
  await far.changeSubscription(streamId, { preferredLayers: { spatialLayer: 0, temporalLayer: 0 } })
  await until('the smallest layer', shows(160, 0), LONG_MS)
  await far.changeSubscription(streamId, { preferredLayers: { spatialLayer: 2 } })
  await until('the largest layer again', shows(640, 2), LONG_MS)
})

it('ends streams on the other worker', async () => {
  const { publisher, near, far } = await spread()
  const [first, second] = [await publisher.publish(), await publisher.publish({ video: false })]
  for (const { streamId } of [first, second]) await far.subscribe(streamId)
  await near.subscribe(first.streamId)
  await publisher.unpublish(second.streamId)
  await far.waitFor('streamDestroyed', ({ streamId }) => streamId === second.streamId)
  await publisher.leave()
  await far.waitFor('streamDestroyed', ({ streamId }) => streamId === first.streamId)
  expect(far.subscriptions).toEqual([])
  const again = await near.publish()
  await flows(await far.subscribe(again.streamId))
})

it('restores the whole session after the death of one of its workers', async () => {
  const { publisher, near, far } = await spread()
  const { streamId } = await publisher.publish()
  const subscriptions = [await near.subscribe(streamId), await far.subscribe(streamId)]
  await flows(...subscriptions)
  const port = workerOf(far)
  const victim = descendantsOf(stack.nodes[0]?.pid ?? 0).find(({ pid }) => udpPortsOf(pid).includes(port ?? 0))
  process.kill(victim?.pid ?? 0, 'SIGKILL')
  await until('all participants have rejoined', () =>
    [publisher, near, far].every(({ mediaRecoveries }) => mediaRecoveries.at(-1)?.kind === 'reconnected'),
  )
  const lostAt = ({ mediaRecoveries }: SyntheticParticipant): number =>
    mediaRecoveries.findLast(({ kind }) => kind === 'reconnecting')?.at ?? Infinity
  await until('all receive a new key frame', () =>
    [near, far].every((who, at) => (video(subscriptions[at]!).lastKeyFrameAt ?? 0) > lostAt(who)),
  )
  await flows(...subscriptions)
  for (const { events } of [publisher, near, far]) {
    expect(events.filter(({ method }) => method === 'sessionDisconnected' || method === 'streamDestroyed')).toEqual([])
  }
})
