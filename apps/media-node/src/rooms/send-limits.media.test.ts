import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals'
import type { PublishedTrack, RtpCapabilities } from '@session-service/contract'
import type { types } from 'mediasoup'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom } from './fixtures/publisher.js'
import { audioTrack, dtls, publication, simulcastTrack, UNLIMITED, videoTrack } from './fixtures/samples.js'

let stack: MediaStack
let roomId: string
let rtpCapabilities: RtpCapabilities
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())
beforeEach(() => {
  roomId = newRoom()
  stack.events.length = 0
})

async function publish(maxSendKbps: number, tracks: PublishedTrack[] = [audioTrack(), videoTrack()]): Promise<void> {
  const joined = await stack.join(roomId, 'pub', { limits: { ...UNLIMITED, maxSendKbps } })
  rtpCapabilities = joined.routerRtpCapabilities
  await stack.service.publish(publication(roomId, 'pub', 'str', tracks))
}

const member = (connectionId: string) => ({ roomId, connectionId, streamId: 'str' })

async function subscribe(connectionId: string, maxRecvKbps: number): Promise<void> {
  await stack.join(roomId, connectionId, { limits: { ...UNLIMITED, maxRecvKbps } })
  await stack.service.subscribe({ ...member(connectionId), rtpCapabilities })
}

/** The limits that were reported for the publisher of the room, oldest first. */
const reported = (): number[] =>
  stack.events.flatMap(({ event }) =>
    event.kind === 'sendLimitChanged' && event.connectionId === 'pub' && event.streamId === 'str'
      ? [event.maxKbps]
      : [],
  )

/** The maximum incoming bitrate at the worker, kbps; undefined = unlimited. */
const enforced = async (): Promise<number | undefined> => {
  const [stats] = await stack.peer(roomId, 'pub').transport('send').transport.getStats()
  return stats?.maxIncomingBitrate === undefined ? undefined : stats.maxIncomingBitrate / 1_000
}

describe('the lowest maximum of the receivers of a stream', () => {
  it('limits its publisher as receivers join and leave', async () => {
    await publish(1_000)
    await subscribe('free', 0)
    await subscribe('same', 1_000)
    expect(reported()).toEqual([])
    await subscribe('low', 300)
    await subscribe('lower', 200)
    expect(await enforced()).toBe(264)
    await stack.service.unsubscribe(member('lower'))
    await stack.service.leave(member('low'))
    expect(reported()).toEqual([300, 200, 300, 0])
    expect(await enforced()).toBe(1_064)
  })

  it('limits a publisher that has no maximum of its own, until the last receiver with a maximum leaves', async () => {
    await publish(0, [videoTrack()])
    await subscribe('low', 200)
    expect(await enforced()).toBe(200)
    await stack.service.leave(member('low'))
    expect(reported()).toEqual([200, 0])
  })

  it('does not limit other streams of the publisher', async () => {
    await publish(500, [videoTrack()])
    await stack.service.publish(publication(roomId, 'pub', 'other', [videoTrack()]))
    await subscribe('low', 200)
    expect(await enforced()).toBe(700)
    await stack.service.unpublish(member('pub'))
    expect(await enforced()).toBe(500)
    expect(reported()).toEqual([200])
  })

  it('counts only while the receiver receives video', async () => {
    await publish(0)
    await stack.join(roomId, 'low', { limits: { ...UNLIMITED, maxRecvKbps: 200 } })
    await stack.service.connectTransport({ ...member('low'), direction: 'recv', dtlsParameters: dtls() })
    await stack.service.subscribe({ ...member('low'), rtpCapabilities })
    expect(reported()).toEqual([])
    await stack.service.changeSubscription({ ...member('low'), audio: true, video: true })
    await stack.service.changeSubscription({ ...member('low'), video: false })
    await stack.service.changeSubscription({ ...member('low'), audio: false })
    expect(reported()).toEqual([200, 0])
  })

  it('is reported for simulcast as well, while the transport keeps the maximum of the publisher and headroom for its layers', async () => {
    await publish(1_000, [simulcastTrack()])
    await subscribe('low', 200)
    expect(reported()).toEqual([200])
    expect(await enforced()).toBe(1_250)
  })

  it('is reported again on request, also when there is none', async () => {
    await publish(0)
    await stack.service.publish(publication(roomId, 'pub', 'other', [videoTrack()]))
    await subscribe('low', 200)
    stack.events.length = 0
    await stack.service.reportSendLimits({ roomId, connectionId: 'pub' })
    expect(stack.events.map(({ event }) => event)).toEqual([
      { kind: 'sendLimitChanged', epoch: 1, connectionId: 'pub', streamId: 'str', maxKbps: 200 },
      { kind: 'sendLimitChanged', epoch: 1, connectionId: 'pub', streamId: 'other', maxKbps: 0 },
    ])
  })
})

describe('the layers that a receiver gets', () => {
  const reports = (): unknown[] =>
    stack.events.flatMap(({ event }) =>
      event.kind === 'layersChanged' && event.connectionId === 'sub' ? [event.layers] : [],
    )
  const emit = (layers: types.ConsumerLayers | undefined): void => {
    for (const consumer of stack.peer(roomId, 'sub').subscription('str').consumers)
      consumer.emit('layerschange', layers)
  }
  const repeated = async (): Promise<unknown[]> => {
    stack.events.length = 0
    await stack.service.reportSendLimits({ roomId, connectionId: 'sub' })
    return reports()
  }

  it('are reported again on request, also that none arrives, but not before they were reported', async () => {
    await publish(0, [simulcastTrack()])
    await subscribe('sub', 0)
    expect(await repeated()).toEqual([])
    emit({ spatialLayer: 1, temporalLayer: 0 })
    expect(await repeated()).toEqual([{ spatialLayer: 1, temporalLayer: 0 }])
    emit(undefined)
    expect(await repeated()).toEqual([null])
    await stack.service.subscribe({ ...member('sub'), rtpCapabilities, replace: true })
    expect(await repeated()).toEqual([null])
  })
})

describe('a changed picture of a simulcast publisher', () => {
  const spatialLayer = (connectionId: string): number | undefined =>
    stack.peer(roomId, connectionId).subscription('str').consumers[0]?.preferredLayers?.spatialLayer
  const setLayers = (layerKbps: number[]) => stack.service.changeStream({ ...member('pub'), layerKbps })

  it('is sent to each receiver in the highest active layer that fits', async () => {
    await publish(0, [simulcastTrack()])
    await subscribe('low', 400)
    await subscribe('free', 0)
    await subscribe('modest', 0)
    await stack.service.changeSubscription({ ...member('modest'), preferredLayers: { spatialLayer: 1 } })
    expect(['low', 'modest'].map(spatialLayer)).toEqual([1, 1])
    await setLayers([300, 600, 0])
    expect(['low', 'free', 'modest'].map(spatialLayer)).toEqual([0, 1, 1])
    await setLayers([500, 0, 0])
    expect(['low', 'free', 'modest'].map(spatialLayer)).toEqual([0, 0, 0])
    await setLayers([100, 300, 900])
    expect(['low', 'free', 'modest'].map(spatialLayer)).toEqual([1, 2, 1])
  })

  it('is limited as a whole while a single layer is sent', async () => {
    await publish(1_000, [simulcastTrack()])
    await subscribe('low', 200)
    expect(await enforced()).toBe(1_250)
    await setLayers([500, 0, 0])
    expect(await enforced()).toBe(200)
    await setLayers([100, 300, 900])
    expect(await enforced()).toBe(1_250)
  })

  it('with another number of layers is rejected', async () => {
    await publish(0, [simulcastTrack()])
    await expect(setLayers([100])).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('layerKbps'),
    })
  })
})
