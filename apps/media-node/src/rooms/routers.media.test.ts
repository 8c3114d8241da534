import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { PublishedTrack } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { NO_MEDIA } from './media-counts.js'
import type { Room } from './room.js'
import { MediaStack } from './fixtures/media-stack.js'
import { audioTrack, publication, simulcastTrack, UNLIMITED } from './fixtures/samples.js'
import type { Peer } from './peer.js'

/** The capacity of a router is two peers. */
const BUDGET = 8
const roomId = 'room'
const pub = { roomId, connectionId: 'pub', streamId: 'str' }

let stack: MediaStack
beforeEach(async () => void (stack = await MediaStack.start({ size: 2, consumersPerRouter: BUDGET })))
afterEach(() => stack.stop())

const room = (): Room => stack.service.rooms.get(roomId)
const peer = (connectionId: string): Peer => room().peer(connectionId)
const routerOf = (connectionId: string): number => room().routers.indexOf(peer(connectionId).roomRouter)
const subscriptionOf = (connectionId: string) => peer(connectionId).subscription('str')

/** `pub` with stream `str` and `near` on the first router, `far1` and `far2` on the second. */
async function spread(tracks?: PublishedTrack[]) {
  const { routerRtpCapabilities: rtpCapabilities } = await stack.join(roomId, 'pub')
  await stack.service.publish(publication(roomId, 'pub', 'str', tracks))
  for (const connectionId of ['near', 'far1', 'far2']) await stack.join(roomId, connectionId)
  expect(['pub', 'near', 'far1', 'far2'].map(routerOf)).toEqual([0, 0, 1, 1])
  const subscribe = (connectionId: string) =>
    stack.service.subscribe({ roomId, connectionId, streamId: 'str', rtpCapabilities })
  const unsubscribe = (connectionId: string) => stack.service.unsubscribe({ roomId, connectionId, streamId: 'str' })
  return { subscribe, unsubscribe, rtpCapabilities }
}

const consumersOfWorkers = (): number[] => room().routers.map(({ worker }) => worker.consumers)

describe('a new peer', () => {
  it('gets a router on another worker when the first one is full, also when many peers join at once', async () => {
    await stack.join(roomId, 'pub')
    await Promise.all(['a', 'b', 'c', 'd', 'e'].map((connectionId) => stack.join(roomId, connectionId)))
    const [first, second, ...more] = room().routers
    expect(more).toEqual([])
    expect(first!.worker).not.toBe(second!.worker)
    // Two peers fit on each router; when both are full the less loaded one is used.
    expect(['pub', 'a', 'b', 'c', 'd', 'e'].map(routerOf)).toEqual([0, 0, 1, 1, 0, 1])
    expect([...stack.pool.workers].map(({ rooms }) => rooms)).toEqual([1, 1])
  })

  it('is counted with all tracks that are published at that moment', async () => {
    await stack.join(roomId, 'pub')
    for (const streamId of ['one', 'two', 'three']) await stack.service.publish(publication(roomId, 'pub', streamId))
    await stack.join(roomId, 'sub')
    expect(routerOf('sub')).toBe(1)
  })

  it('gets the capacity of a peer that has left, and empty routers are closed', async () => {
    await spread()
    await stack.service.leave({ roomId, connectionId: 'near' })
    await stack.join(roomId, 'next')
    expect(routerOf('next')).toBe(0)
    for (const connectionId of ['far1', 'far2']) await stack.service.leave({ roomId, connectionId })
    expect(room().routers).toHaveLength(1)
    expect([...stack.pool.workers].map(({ rooms }) => rooms).toSorted()).toEqual([0, 1])
    await stack.join(roomId, 'far3')
    expect(routerOf('far3')).toBe(1)
  })

  it('keeps the room when the first router becomes empty', async () => {
    const { subscribe } = await spread()
    for (const connectionId of ['pub', 'near']) await stack.service.leave({ roomId, connectionId })
    expect(room().routers).toHaveLength(1)
    await stack.join(roomId, 'pub')
    await stack.service.publish(publication(roomId, 'pub', 'str'))
    expect((await subscribe('far1')).tracks).toHaveLength(2)
  })

  it('does not open a router in a room that closes at that moment', async () => {
    await spread()
    const [joined] = await Promise.allSettled([
      stack.join(roomId, 'late'),
      stack.service.closeRoom({ roomId, epoch: 1 }),
    ])
    expect(joined).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND' } })
    expect([...stack.pool.workers].map(({ rooms, consumers }) => [rooms, consumers])).toEqual([
      [0, 0],
      [0, 0],
    ])
  })
})

describe('a track', () => {
  it('is piped once to another router with subscribers, until the last of them unsubscribes', async () => {
    const { subscribe, unsubscribe } = await spread()
    await subscribe('near')
    expect(await stack.routers(roomId)).toEqual([
      { transports: 4, producers: 2, consumers: 2 },
      { transports: 4, producers: 0, consumers: 0 },
    ])
    const [one, two] = await Promise.all([subscribe('far1'), subscribe('far2')])
    expect(one.tracks.map(({ producerId }) => producerId)).toEqual(two.tracks.map(({ producerId }) => producerId))
    const spreadOut = [
      { transports: 5, producers: 2, consumers: 4 },
      { transports: 5, producers: 2, consumers: 4 },
    ]
    expect(await stack.routers(roomId)).toEqual(spreadOut)
    expect(consumersOfWorkers()).toEqual([4, 4])
    expect(stack.service.counts.consumers).toBe(6)
    await unsubscribe('far1')
    expect(await stack.routers(roomId)).toMatchObject([{ consumers: 4 }, { producers: 2, consumers: 2 }])
    await stack.service.leave({ roomId, connectionId: 'far2' })
    expect(await stack.routers(roomId)).toMatchObject([{ consumers: 2 }, { producers: 0, consumers: 0 }])
    expect(consumersOfWorkers()).toEqual([2, 0])
    await subscribe('far1')
    expect(await stack.routers(roomId)).toMatchObject([{ consumers: 4 }, { producers: 2, consumers: 2 }])
  })

  it('ends on all routers when it is unpublished, and when its publisher leaves', async () => {
    const { subscribe } = await spread()
    await Promise.all(['near', 'far1', 'far2'].map(subscribe))
    await stack.service.unpublish(pub)
    const empty = { producers: 0, consumers: 0 }
    expect(await stack.routers(roomId)).toMatchObject([empty, empty])
    await stack.service.publish(publication(roomId, 'pub', 'str'))
    await Promise.all(['near', 'far1'].map(subscribe))
    await stack.service.leave(pub)
    expect(await stack.routers(roomId)).toMatchObject([empty, empty])
    expect(stack.service.counts).toEqual({
      connections: 3,
      transports: 6,
      streams: 0,
      consumers: 0,
      cameras: 0,
      transcodings: 0,
      videoFilters: 0,
      audioFilters: 0,
    })
    expect(consumersOfWorkers()).toEqual([0, 0])
  })

  it('that is muted is muted on all routers, also on those to which it is being piped', async () => {
    const { subscribe } = await spread()
    await subscribe('far1')
    const mute = (videoActive: boolean) => stack.service.changeStream({ ...pub, videoActive })
    const [, far] = subscriptionOf('far1').consumers
    await mute(false)
    await until('the far consumer knows of the pause', () => far!.producerPaused)
    const [arriving] = await Promise.all([subscribe('far2'), mute(true), mute(false)])
    expect(arriving.tracks).toHaveLength(2)
    await until('both know of the pause', () =>
      ['far1', 'far2'].every((name) => subscriptionOf(name).consumers[1]!.producerPaused),
    )
    await mute(true)
    await until('and of its end', () =>
      ['far1', 'far2'].every((name) => !subscriptionOf(name).consumers[1]!.producerPaused),
    )
    expect(subscriptionOf('far2').consumers[0]!.producerPaused).toBe(false)
  })

  it('that is published muted is piped muted', async () => {
    const { subscribe } = await spread()
    await stack.service.changeStream({ ...pub, audioActive: false })
    await subscribe('far1')
    expect(subscriptionOf('far1').consumers.map(({ producerPaused }) => producerPaused)).toEqual([true, false])
  })

  it('keeps its layers and the limits of its receivers', async () => {
    const { subscribe } = await spread([simulcastTrack()])
    await stack.join(roomId, 'far2', { limits: { ...UNLIMITED, maxRecvKbps: 400 } })
    await Promise.all(['far1', 'far2'].map(subscribe))
    expect(subscriptionOf('far1').consumers[0]).toMatchObject({ type: 'simulcast' })
    const [limited] = subscriptionOf('far2').consumers
    expect(limited).toMatchObject({ type: 'simulcast', preferredLayers: { spatialLayer: 1 } })
    const far2 = { roomId, connectionId: 'far2', streamId: 'str' }
    await stack.service.changeSubscription({ ...far2, preferredLayers: { spatialLayer: 0 } })
    expect(limited!.preferredLayers).toMatchObject({ spatialLayer: 0 })
  })

  it('is not kept on a router whose subscribers cannot decode it', async () => {
    const { rtpCapabilities } = await spread([audioTrack()])
    const deaf = { ...rtpCapabilities, codecs: [] }
    const subscribing = stack.service.subscribe({ ...pub, connectionId: 'far1', rtpCapabilities: deaf })
    await expect(subscribing).rejects.toMatchObject({ code: 'INVALID' })
    expect(await stack.routers(roomId)).toMatchObject([{ consumers: 0 }, { producers: 0, consumers: 0 }])
  })
})

describe('concurrently', () => {
  it('subscribing and unsubscribing ends in the state of the last command', async () => {
    const { subscribe, unsubscribe } = await spread()
    for (let round = 0; round < 10; round++) {
      await Promise.all([subscribe('far1'), unsubscribe('far1'), subscribe('far1'), subscribe('far2')])
      await Promise.all([unsubscribe('far2'), unsubscribe('far1'), subscribe('far2')])
      expect(await stack.routers(roomId)).toMatchObject([{ consumers: 2 }, { producers: 2, consumers: 2 }])
      await unsubscribe('far2')
    }
    expect(consumersOfWorkers()).toEqual([0, 0])
  })

  it.each(['pub', 'far1'])('the leave of %s ends operations in progress', async (leaving) => {
    const { subscribe } = await spread()
    const [subscribed] = await Promise.allSettled([
      subscribe('far1'),
      stack.service.leave({ roomId, connectionId: leaving }),
    ])
    // Commands of one connection keep their order.
    if (leaving === 'pub') expect(subscribed).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND' } })
    await until('nothing is left', async () => {
      const left = await stack.routers(roomId)
      return left.every(({ consumers }) => consumers === 0) && left[1]?.producers === 0
    })
    expect(consumersOfWorkers()).toEqual([0, 0])
  })
})

it('50 sessions over two workers leave nothing behind', async () => {
  const cycle = async (): Promise<void> => {
    const { subscribe, unsubscribe } = await spread()
    await Promise.all(['near', 'far1', 'far2'].map(subscribe))
    await unsubscribe('far1')
    await stack.service.closeRoom({ roomId, epoch: 1 })
  }
  await cycle()
  const before = await stack.handlers()
  for (let round = 0; round < 50; round++) await cycle()
  expect(await stack.handlers()).toEqual(before)
  expect(stack.service.counts).toEqual(NO_MEDIA)
  expect([...stack.pool.workers].map(({ rooms, consumers }) => [rooms, consumers])).toEqual([
    [0, 0],
    [0, 0],
  ])
})

it.each([0, 1])('the death of the worker of router %i loses the whole room, reported once', async (victim) => {
  const { subscribe } = await spread()
  await Promise.all(['near', 'far1', 'far2'].map(subscribe))
  process.kill(room().routers[victim]!.worker.worker.pid, 'SIGKILL')
  await until('the loss is reported', () => stack.lost.length > 0)
  expect(stack.lost).toEqual([[roomId]])
  expect(stack.service.counts).toEqual(NO_MEDIA)
  const [survivor] = stack.pool.workers
  expect([survivor!.rooms, survivor!.consumers]).toEqual([0, 0])
  await until('the survivor has closed its part', async () => (await survivor!.worker.dump()).routerIds.length === 0)
  await until('the worker is back', () => stack.pool.workers.size === 2)
  const again = await spread()
  expect((await again.subscribe('far1')).tracks).toHaveLength(2)
  expect(stack.lost).toHaveLength(1)
})
