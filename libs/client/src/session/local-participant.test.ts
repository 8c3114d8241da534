import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { refused } from '../fixtures/fake-signalling-server.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'
import { connectionInfo, streamInfo } from '../fixtures/samples.js'
import { MEDIA_TIMEOUTS } from '../media/media-connection.js'

const back = streamInfo('str_b', 'con_b')

describe('a participant after the loss of its media', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  it('publishes and receives again with the same ids and objects, and emits only reconnecting and reconnected', async () => {
    const { participant, server } = testbed
    const publisher = await testbed.publish({ publishVideo: false })
    const { subscriber, established } = testbed.subscribe()
    await established
    await subscriber.subscribeToAudio(false)
    await subscriber.setPreferredLayers({ spatialLayer: 1 })
    const [own, theirs, streams] = [publisher.stream, subscriber.stream, [...participant.roster.streams.keys()]]
    testbed.notifyMediaLoss(900)
    await until('the loss', () => testbed.log.length > 0)
    expect(testbed.engines[0]?.state).toBe('retired')
    testbed.clock.pass(899)
    expect(server.calls('rejoin')).toEqual([])
    testbed.snapshot = { ...testbed.snapshot, streams: [back] }
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect(testbed.callsAfter('publish', 1)).toMatchObject([{ params: { streamId: 'str_own1', videoActive: false } }])
    expect(testbed.callsAfter('subscribe', 1)).toMatchObject([{ params: { streamId: 'str_b' } }])
    expect(server.calls('changeSubscription').at(-1)?.params).toEqual({
      streamId: 'str_b',
      audio: false,
      video: true,
      preferredLayers: { spatialLayer: 1 },
    })
    expect([publisher.stream, subscriber.stream, [...participant.roster.streams.keys()]]).toEqual([
      own,
      theirs,
      streams,
    ])
    expect([participant.publishers.get('str_own1'), participant.subscribers.get('str_b')]).toEqual([
      publisher,
      subscriber,
    ])
    expect(subscriber.mediaStream.getTracks()).toHaveLength(2)
    await testbed.elapse(2 * MEDIA_TIMEOUTS.restoreStreams)
    expect(testbed.log).toHaveLength(2)
    expect(testbed.engines.map(({ state }) => state)).toEqual(['closed', 'open'])
  })

  it('receives a stream again when its publisher returns later', async () => {
    await testbed.subscribe().established
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect(testbed.callsAfter('subscribe', 1)).toEqual([])
    await testbed.elapse(MEDIA_TIMEOUTS.restoreStreams - 1_000)
    testbed.server.notify('streamCreated', streamInfo('str_b', 'con_b', { audioActive: false }))
    await until('subscribed', () => testbed.callsAfter('subscribe', 1).length === 1)
    await testbed.elapse(2 * MEDIA_TIMEOUTS.restoreStreams)
    // The publisher muted the stream meanwhile.
    expect(testbed.log).toEqual(['reconnecting', 'reconnected', 'streamPropertyChanged str_b audioActive publishAudio'])
  })

  it('ends a stream that is not restored', async () => {
    await testbed.subscribe().established
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    await testbed.elapse(MEDIA_TIMEOUTS.restoreStreams)
    expect(testbed.log.slice(2)).toEqual([
      'streamDestroyed str_b nodeCrashed',
      'subscriber streamDestroyed str_b nodeCrashed',
    ])
    expect(testbed.participant.subscribers.size).toBe(0)
  })

  it('ends a stream at once with the connection that published it', async () => {
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    testbed.server.notify('connectionDestroyed', { connectionId: 'con_b', reason: 'networkDisconnect' })
    await testbed.waitForEvent('connectionDestroyed con_b networkDisconnect')
    await testbed.elapse(2 * MEDIA_TIMEOUTS.restoreStreams)
    expect(testbed.log.slice(2)).toEqual([
      'streamDestroyed str_b networkDisconnect',
      'connectionDestroyed con_b networkDisconnect',
    ])
  })

  it('emits the missed changes from the answer to rejoin', async () => {
    testbed.notifyMediaLoss(500)
    await testbed.waitForEvent('reconnecting')
    testbed.snapshot = {
      ...testbed.snapshot,
      connections: [...testbed.snapshot.connections, connectionInfo('con_c')],
      streams: [streamInfo('str_b', 'con_b', { videoActive: false }), streamInfo('str_c', 'con_c')],
    }
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual([
      'reconnecting',
      'connectionCreated con_c',
      'streamPropertyChanged str_b videoActive publishVideo',
      'streamCreated str_c',
      'reconnected',
    ])
  })

  it('emits one event when the socket is lost with the node, and detects the loss from the snapshot', async () => {
    const publisher = await testbed.publish()
    testbed.loseMedia()
    testbed.server.last.terminate()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect(testbed.callsAfter('publish', 1)).toMatchObject([{ params: { streamId: 'str_own1' } }])
    expect(publisher.published).toBe(true)
  })

  it('emits one event when the socket is lost after the node', async () => {
    await testbed.publish()
    testbed.server.answer('rejoin', () => 'silence')
    testbed.notifyMediaLoss()
    await testbed.passUntil('rejoin', () => testbed.server.calls('rejoin').length === 1)
    testbed.answerAll()
    testbed.server.last.terminate()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect(testbed.server.calls('rejoin').map(({ socket }) => socket)).toEqual([1, 2])
  })

  it('detects the loss from a snapshot notification', async () => {
    testbed.loseMedia()
    testbed.server.notify('snapshot', testbed.snapshot)
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
  })

  it('recovers from a second loss during the first one', async () => {
    await testbed.publish()
    let losses = 0
    testbed.server.answer('publish', ({ params }) => {
      if (++losses === 1) {
        testbed.notifyMediaLoss(100)
        return refused('UNAVAILABLE')()
      }
      return { result: { streamId: params['streamId'], createdAt: 3 } }
    })
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect(testbed.engines.map(({ state }) => state)).toEqual(['retired', 'retired', 'open'])
    expect(testbed.callsAfter('publish', 1).map(({ params }) => params['streamId'])).toEqual(['str_own1', 'str_own1'])
  })

  it('retries rejoin until a node is available', async () => {
    testbed.server.answer('rejoin', refused('NO_CAPACITY'))
    testbed.notifyMediaLoss()
    await testbed.passUntil('many attempts', () => testbed.server.calls('rejoin').length > 12, 500)
    testbed.answerAll()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
  })

  it('leaves when rejoin is refused', async () => {
    testbed.server.answer('rejoin', refused('UNAUTHENTICATED'))
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('sessionDisconnected nodeCrashed')
    expect(testbed.participant.state).toBe('disconnected')
    await until('the server receives leave', () => testbed.server.calls('leave').length === 1)
  })

  it('ends an own stream whose publication is refused, and continues', async () => {
    await testbed.publish()
    testbed.server.answer('publish', refused('NOT_ALLOWED'))
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'own streamDestroyed str_own1 nodeCrashed', 'reconnected'])
    expect(testbed.participant.publishers.size).toBe(0)
  })

  it('replaces the stream when the answer to the second publish was lost with its socket', async () => {
    await testbed.publish()
    let tries = 0
    testbed.server.answer('publish', ({ params }) => {
      const { streamId } = params
      if (++tries === 1) return (testbed.server.last.terminate(), 'silence')
      return tries === 2 ? refused('CONFLICT')() : { result: { streamId, createdAt: 3 } }
    })
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    const order = testbed.server.received.map(({ method }) => method).filter((method) => /publish/.test(method))
    expect(order).toEqual(['publish', 'publish', 'publish', 'unpublish', 'publish'])
    expect(testbed.server.calls('unpublish').map(({ params }) => params)).toEqual([
      { streamId: 'str_own1', keepFilter: true },
    ])
  })
})
