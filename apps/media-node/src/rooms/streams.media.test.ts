import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import { NODE_COMMANDS } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { MediaStack } from './fixtures/media-stack.js'
import { newRoom, publisherAndSubscriber } from './fixtures/publisher.js'
import { audioOnly, audioTrack, dtls, publication, videoTrack } from './fixtures/samples.js'
import { STREAMS_PER_CONNECTION } from './peer.js'

let stack: MediaStack
beforeAll(async () => void (stack = await MediaStack.start()))
afterAll(() => stack.stop())

describe('publish', () => {
  it('creates the tracks, paused if they are inactive', async () => {
    const { roomId, pub } = await publisherAndSubscriber(stack, [audioTrack()])
    await stack.service.publish({ ...publication(roomId, 'pub', 'two'), audioActive: false })
    const { tracks } = stack.peer(roomId, 'pub').ownStream('two')
    expect(tracks.map(({ kind, producer }) => [kind, producer.paused])).toEqual([
      ['audio', true],
      ['video', false],
    ])
    await stack.service.changeStream({ ...pub, streamId: 'two', audioActive: true, videoActive: false })
    expect(tracks.map(({ producer }) => producer.paused)).toEqual([false, true])
    expect((await tracks[1]!.producer.dump()).paused).toBe(true)
  })

  it('connects the send transport in the same command, idempotently', async () => {
    const roomId = newRoom()
    await stack.join(roomId, 'pub')
    await stack.service.publish({ ...publication(roomId, 'pub', 'one'), dtlsParameters: dtls() })
    await stack.service.publish({ ...publication(roomId, 'pub', 'two'), dtlsParameters: dtls() })
    await stack.service.connectTransport({ roomId, connectionId: 'pub', direction: 'send', dtlsParameters: dtls() })
    expect(stack.peer(roomId, 'pub').transport('send').connected).toBe(true)
    expect(stack.peer(roomId, 'pub').transport('recv').connected).toBe(false)
    const other = { roomId, connectionId: 'pub', direction: 'send' as const, dtlsParameters: dtls('CD') }
    await expect(stack.service.connectTransport(other)).rejects.toMatchObject({ code: 'CONFLICT' })
  })

  it('is rolled back as a whole when one track fails', async () => {
    const roomId = newRoom()
    await stack.join(roomId, 'pub', { videoCodec: 'NONE' })
    const tracks = [audioTrack(), videoTrack('video/AV1')]
    await expect(stack.service.publish(publication(roomId, 'pub', 'str', tracks))).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('video track'),
    })
    expect(await stack.inside(roomId)).toMatchObject({ producers: 0 })
    expect(stack.peer(roomId, 'pub').streams.size).toBe(0)
    await stack.service.publish(publication(roomId, 'pub', 'str'))
    expect(await stack.inside(roomId)).toMatchObject({ producers: 2 })
  })

  it('rejects a duplicate stream, two tracks of a kind and a duplicate SSRC', async () => {
    const { roomId } = await publisherAndSubscriber(stack)
    await expect(stack.service.publish(publication(roomId, 'pub', 'str'))).rejects.toMatchObject({ code: 'CONFLICT' })
    const twice = publication(roomId, 'pub', 'two', [videoTrack(), videoTrack()])
    await expect(stack.service.publish(twice)).rejects.toMatchObject({ code: 'INVALID' })
    const track = audioTrack()
    await stack.service.publish(publication(roomId, 'pub', 'three', [track]))
    const again = publication(roomId, 'pub', 'four', [track])
    await expect(stack.service.publish(again)).rejects.toMatchObject({ code: 'INVALID' })
  })

  it('is limited per connection', async () => {
    const roomId = newRoom()
    await stack.join(roomId, 'pub')
    const publish = (streamId: string) => stack.service.publish(publication(roomId, 'pub', streamId, [audioTrack()]))
    await Promise.all(Array.from({ length: STREAMS_PER_CONNECTION }, (_, index) => publish(`str${index}`)))
    await expect(publish('more')).rejects.toMatchObject({ code: 'LIMIT_REACHED' })
    await stack.service.unpublish({ roomId, connectionId: 'pub', streamId: 'str7' })
    await publish('more')
  })

  it('executes the commands of a connection in the order of their arrival', async () => {
    const roomId = newRoom()
    const pub = { roomId, connectionId: 'pub', streamId: 'str' }
    const results = await Promise.allSettled([
      stack.join(roomId, 'pub'),
      stack.service.publish(publication(roomId, 'pub', 'str')),
      stack.service.unpublish(pub),
      stack.service.publish(publication(roomId, 'pub', 'str')),
      stack.service.leave(pub),
      stack.service.unpublish(pub),
    ])
    expect(results.map(({ status }) => status)).toEqual([...Array<string>(5).fill('fulfilled'), 'rejected'])
    expect(await stack.inside(roomId)).toEqual({ transports: 0, producers: 0, consumers: 0 })
  })
})

describe('subscribe', () => {
  it('creates a consumer for each track, unpaused on an unconnected transport', async () => {
    const { roomId, sub, rtpCapabilities } = await publisherAndSubscriber(stack)
    const { tracks } = await stack.service.subscribe({ ...sub, rtpCapabilities })
    expect(NODE_COMMANDS.subscribe[1].parse({ tracks }).tracks).toEqual(tracks)
    expect(tracks.map(({ kind, paused }) => [kind, paused])).toEqual([
      ['audio', false],
      ['video', false],
    ])
    expect(await stack.inside(roomId)).toMatchObject({ consumers: 2 })
  })

  it('starts paused on a connected transport and is resumed by a command', async () => {
    const { roomId, sub, rtpCapabilities } = await publisherAndSubscriber(stack)
    await stack.service.connectTransport({ ...sub, direction: 'recv', dtlsParameters: dtls() })
    const { tracks } = await stack.service.subscribe({ ...sub, rtpCapabilities })
    expect(tracks.map(({ paused }) => paused)).toEqual([true, true])
    await stack.service.changeSubscription({ ...sub, audio: true, video: true })
    const { consumers } = stack.peer(roomId, 'sub').subscription('str')
    expect(await Promise.all(consumers.map(async (one) => (await one.dump()).paused))).toEqual([false, false])
    await stack.service.changeSubscription({ ...sub, video: false })
    expect(consumers.map(({ paused }) => paused)).toEqual([false, true])
  })

  it('follows the pauses and the end of the publication', async () => {
    const { roomId, sub, pub, rtpCapabilities } = await publisherAndSubscriber(stack)
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    const { consumers } = stack.peer(roomId, 'sub').subscription('str')
    await stack.service.changeStream({ ...pub, videoActive: false })
    await until('the consumer knows of the pause', () => consumers[1]!.producerPaused)
    expect(consumers[0]!.producerPaused).toBe(false)
    await stack.service.unpublish(pub)
    expect(stack.peer(roomId, 'sub').subscriptions.size).toBe(0)
    expect(await stack.inside(roomId)).toMatchObject({ producers: 0, consumers: 0 })
    await expect(stack.service.unsubscribe(sub)).rejects.toMatchObject({ code: 'NOT_FOUND', subject: 'stream' })
  })

  it('starts all tracks paused for a client that asks for that, on an unconnected transport too', async () => {
    const { sub, rtpCapabilities } = await publisherAndSubscriber(stack)
    const { tracks } = await stack.service.subscribe({ ...sub, rtpCapabilities, paused: true })
    expect(tracks.map(({ paused }) => paused)).toEqual([true, true])
    await stack.service.connectTransport({ ...sub, direction: 'recv', dtlsParameters: dtls() })
    await stack.service.changeSubscription({ ...sub, audio: true, video: true })
    const { consumers } = stack.peer(sub.roomId, 'sub').subscription(sub.streamId)
    expect(consumers.map(({ paused }) => paused)).toEqual([false, false])
  })

  it('omits tracks that the subscriber cannot decode, and is INVALID when it can decode none', async () => {
    const { sub, roomId, rtpCapabilities } = await publisherAndSubscriber(stack)
    const { tracks } = await stack.service.subscribe({ ...sub, rtpCapabilities: audioOnly(rtpCapabilities) })
    expect(tracks.map(({ kind }) => kind)).toEqual(['audio'])
    await stack.join(roomId, 'deaf')
    const deaf = { ...sub, connectionId: 'deaf', rtpCapabilities: { codecs: [], headerExtensions: [] } }
    await expect(stack.service.subscribe(deaf)).rejects.toMatchObject({
      code: 'INVALID',
      message: expect.stringContaining('cannot consume'),
    })
    expect(await stack.inside(roomId)).toMatchObject({ consumers: 1 })
  })

  it('rejects the own stream, a duplicate and an unknown stream', async () => {
    const { sub, pub, rtpCapabilities } = await publisherAndSubscriber(stack)
    const refused = (call: typeof sub) => expect(stack.service.subscribe({ ...call, rtpCapabilities })).rejects
    await refused(pub).toMatchObject({ code: 'NOT_ALLOWED' })
    await stack.service.subscribe({ ...sub, rtpCapabilities })
    await refused(sub).toMatchObject({ code: 'CONFLICT' })
    await refused({ ...sub, streamId: 'no' }).toMatchObject({ code: 'NOT_FOUND', subject: 'stream' })
    await refused({ ...sub, connectionId: 'no' }).toMatchObject({ code: 'NOT_FOUND', subject: 'connection' })
    await refused({ ...sub, roomId: 'no' }).toMatchObject({ code: 'NOT_FOUND', subject: 'connection' })
  })

  it('ends when the publisher leaves at the same moment', async () => {
    const { roomId, sub, pub, rtpCapabilities } = await publisherAndSubscriber(stack)
    const [subscribed] = await Promise.allSettled([
      stack.service.subscribe({ ...sub, rtpCapabilities }),
      stack.service.leave(pub),
    ])
    expect(subscribed).toMatchObject({ status: 'rejected', reason: { code: 'NOT_FOUND', subject: 'stream' } })
    expect(await stack.inside(roomId)).toEqual({ transports: 2, producers: 0, consumers: 0 })
  })
})
