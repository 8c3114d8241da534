import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { NODE_COMMANDS } from '@session-service/contract'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom, publisherAndSubscriber } from './fixtures/publisher.js'
import { publication, simulcastTrack, UNLIMITED, videoTrack } from './fixtures/samples.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start({ announcedAddress: () => 'media.example.org' })))
afterAll(() => stack.stop())

describe('join', () => {
  it('answers as the contract requires, with UDP before TCP at the announced address', async () => {
    const joined = await stack.join(newRoom(), 'con')
    expect(NODE_COMMANDS.join[1].parse(joined)).toEqual(joined)
    for (const { iceCandidates } of [joined.sendTransport, joined.recvTransport]) {
      const byPriority = iceCandidates.toSorted((a, b) => b.priority - a.priority)
      expect(byPriority.map(({ protocol }) => protocol)).toEqual(['udp', 'tcp'])
      expect(new Set(iceCandidates.map(({ address }) => address))).toEqual(new Set(['media.example.org']))
    }
  })

  it('opens one room for concurrent first joins', async () => {
    const roomId = newRoom()
    const before = (await stack.pool.pick().worker.dump()).routerIds.length
    await Promise.all(Array.from({ length: 10 }, (_, index) => stack.join(roomId, `con${index}`)))
    expect((await stack.pool.pick().worker.dump()).routerIds).toHaveLength(before + 1)
    expect(await stack.inside(roomId)).toMatchObject({ transports: 20 })
  })

  it('repeated closes the previous media of the connection', async () => {
    const { roomId, sub, rtpCapabilities } = await publisherAndSubscriber(stack)
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    const first = stack.peer(roomId, 'pub').transport('send').transport.id
    const { sendTransport } = await stack.join(roomId, 'pub')
    expect(sendTransport.id).not.toBe(first)
    expect(await stack.inside(roomId)).toEqual({ transports: 4, producers: 0, consumers: 0 })
  })

  it('forces the codec of the room', async () => {
    const { routerRtpCapabilities } = await stack.join(newRoom(), 'con', { videoCodec: 'H264' })
    const video = routerRtpCapabilities.codecs.filter(
      ({ kind, mimeType }) => kind === 'video' && !mimeType.endsWith('rtx'),
    )
    expect(video.map(({ mimeType }) => mimeType)).toEqual(['video/H264'])
  })

  it('does not offer the orientation of pictures, so that phones turn them before they encode', async () => {
    const { routerRtpCapabilities } = await stack.join(newRoom(), 'con')
    const uris = routerRtpCapabilities.headerExtensions.map(({ uri }) => uri)
    expect(uris).toContain('urn:ietf:params:rtp-hdrext:sdes:mid')
    expect(uris).not.toContain('urn:3gpp:video-orientation')
  })

  it('distinguishes rooms with different codecs', async () => {
    const vp8 = await stack.join(newRoom(), 'con', { videoCodec: 'VP8' })
    const any = await stack.join(newRoom(), 'con', { videoCodec: 'NONE' })
    expect(any.routerRtpCapabilities.codecs.length).toBeGreaterThan(vp8.routerRtpCapabilities.codecs.length)
  })
})

describe('layers and bandwidth', () => {
  const limits = { ...UNLIMITED, maxSendKbps: 500, maxRecvKbps: 400, minRecvKbps: 100 }

  it('a subscriber starts at the fitting layer and stays at or below it', async () => {
    const { roomId, sub, rtpCapabilities } = await publisherAndSubscriber(stack, [simulcastTrack()])
    await stack.join(roomId, 'sub', { limits })
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    const [consumer] = stack.peer(roomId, 'sub').subscription('str').consumers
    expect(consumer).toMatchObject({ type: 'simulcast', preferredLayers: { spatialLayer: 1 } })
    await stack.service.changeSubscription({ ...sub, preferredLayers: { spatialLayer: 0, temporalLayer: 0 } })
    expect(consumer!.preferredLayers).toEqual({ spatialLayer: 0, temporalLayer: 0 })
    await stack.service.changeSubscription({ ...sub, preferredLayers: { spatialLayer: 2 } })
    expect(consumer!.preferredLayers).toMatchObject({ spatialLayer: 1 })
  })

  it('limits apply to each stream and are set on the transports', async () => {
    const { roomId, sub, rtpCapabilities } = await publisherAndSubscriber(stack)
    await stack.join(roomId, 'sub', { limits })
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    await stack.service.publish(publication(roomId, 'sub', 'a'))
    await stack.service.publish(publication(roomId, 'sub', 'b', [videoTrack()]))
    const [send, recv] = [stack.peer(roomId, 'sub').transport('send'), stack.peer(roomId, 'sub').transport('recv')]
    expect((await send.transport.getStats())[0]).toMatchObject({ maxIncomingBitrate: 1_064_000 })
    expect((await recv.transport.getStats())[0]).toMatchObject({
      maxOutgoingBitrate: 464_000,
      minOutgoingBitrate: 100_000,
    })
    await stack.service.unpublish({ ...sub, streamId: 'b' })
    expect((await send.transport.getStats())[0]).toMatchObject({ maxIncomingBitrate: 564_000 })
  })
})

describe('leaving', () => {
  it('an unknown room succeeds, all other commands return NOT_FOUND', async () => {
    const roomId = newRoom()
    const gone = { roomId, connectionId: 'con', streamId: 'str' }
    await stack.service.leave(gone)
    await stack.service.closeRoom({ roomId, epoch: 1 })
    await stack.join(roomId, 'other')
    await stack.service.leave(gone)
    const missing = { code: 'NOT_FOUND', subject: 'connection' }
    await expect(stack.service.unpublish(gone)).rejects.toMatchObject(missing)
    await expect(stack.service.changeSubscription(gone)).rejects.toMatchObject(missing)
    await expect(stack.service.restartIce({ ...gone, direction: 'send' })).rejects.toMatchObject(missing)
    const own = { ...gone, connectionId: 'other' }
    await expect(stack.service.unpublish(own)).rejects.toMatchObject({ code: 'NOT_FOUND', subject: 'stream' })
  })

  it('keeps an empty room until it is closed', async () => {
    const roomId = newRoom()
    await stack.join(roomId, 'con')
    await stack.service.leave({ roomId, connectionId: 'con' })
    expect(stack.service.rooms.ids).toContain(roomId)
    await stack.service.closeRoom({ roomId, epoch: 1 })
    expect(stack.service.rooms.ids).not.toContain(roomId)
  })

  it('a room that closes during a join leaves nothing behind', async () => {
    const roomId = newRoom()
    const [joined] = await Promise.allSettled([
      stack.join(roomId, 'con'),
      stack.service.closeRoom({ roomId, epoch: 1 }),
    ])
    expect(joined).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND' } })
    expect(stack.service.rooms.ids).not.toContain(roomId)
  })

  it('ICE restarts with new credentials', async () => {
    const roomId = newRoom()
    const { recvTransport } = await stack.join(roomId, 'con')
    const restarted = await stack.service.restartIce({ roomId, connectionId: 'con', direction: 'recv' })
    expect(NODE_COMMANDS.restartIce[1].parse(restarted).iceParameters.password).not.toBe(
      recvTransport.iceParameters.password,
    )
  })

  it('is listed in the inventory', async () => {
    const { roomId } = await publisherAndSubscriber(stack)
    const { bootId, rooms: held } = await stack.service.inventory({})
    expect(bootId).toBe('boot')
    expect(held.find((room) => room.roomId === roomId)).toEqual({
      roomId,
      epoch: 1,
      connectionIds: ['pub', 'sub'],
      streamIds: ['str'],
    })
  })
})
