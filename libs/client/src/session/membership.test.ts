import { ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LoneMember } from '../fixtures/lone-member.js'
import { until } from '../fixtures/manual-clock.js'
import { connectionInfo, streamInfo } from '../fixtures/samples.js'
import { MEDIA_TIMES } from '../media/media-line.js'

const refused = (code: ConstructorParameters<typeof ServiceError>[0]) => () => ({
  error: new ServiceError(code, 'not now'),
})
const back = streamInfo('str_b', 'con_b')

describe('a participant whose media is lost', () => {
  let lone: LoneMember
  beforeEach(async () => {
    lone = await LoneMember.join()
  })
  afterEach(() => lone.stop())

  it('publishes and receives again, ids and objects as before, and tells nothing but that it reconnects', async () => {
    const { member, server } = lone
    const publisher = await lone.publish({ publishVideo: false })
    const { subscriber, made } = lone.subscribe()
    await made
    await subscriber.subscribeToAudio(false)
    await subscriber.setPreferredLayers({ spatialLayer: 1 })
    const [own, theirs, streams] = [publisher.stream, subscriber.stream, [...member.roster.streams.keys()]]
    lone.tellLoss(900)
    await until('the loss', () => lone.log.length > 0)
    expect(lone.engines[0]?.state).toBe('retired')
    lone.clock.pass(899)
    expect(server.calls('rejoin')).toEqual([])
    lone.snapshot = { ...lone.snapshot, streams: [back] }
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
    expect(lone.since('publish', 1)).toMatchObject([{ params: { streamId: 'str_own1', videoActive: false } }])
    expect(lone.since('subscribe', 1)).toMatchObject([{ params: { streamId: 'str_b' } }])
    expect(server.calls('changeSubscription').at(-1)?.params).toEqual({
      streamId: 'str_b',
      audio: false,
      video: true,
      preferredLayers: { spatialLayer: 1 },
    })
    expect([publisher.stream, subscriber.stream, [...member.roster.streams.keys()]]).toEqual([own, theirs, streams])
    expect([member.publishers.get('str_own1'), member.subscribers.get('str_b')]).toEqual([publisher, subscriber])
    expect(subscriber.mediaStream.getTracks()).toHaveLength(2)
    await lone.elapse(2 * MEDIA_TIMES.comeback)
    expect(lone.log).toHaveLength(2)
    expect(lone.engines.map(({ state }) => state)).toEqual(['closed', 'open'])
  })

  it('receives a stream again when its publisher is back later', async () => {
    await lone.subscribe().made
    lone.tellLoss()
    await lone.hears('reconnected')
    expect(lone.since('subscribe', 1)).toEqual([])
    await lone.elapse(MEDIA_TIMES.comeback - 1_000)
    lone.server.notify('streamCreated', streamInfo('str_b', 'con_b', { audioActive: false }))
    await until('subscribed', () => lone.since('subscribe', 1).length === 1)
    await lone.elapse(2 * MEDIA_TIMES.comeback)
    // It was muted meanwhile.
    expect(lone.log).toEqual(['reconnecting', 'reconnected', 'streamPropertyChanged str_b audioActive publishAudio'])
  })

  it('ends a stream that does not come back', async () => {
    await lone.subscribe().made
    lone.tellLoss()
    await lone.hears('reconnected')
    await lone.elapse(MEDIA_TIMES.comeback)
    expect(lone.log.slice(2)).toEqual([
      'streamDestroyed str_b nodeCrashed',
      'subscriber streamDestroyed str_b nodeCrashed',
    ])
    expect(lone.member.subscribers.size).toBe(0)
  })

  it('ends a stream at once with the connection that published it', async () => {
    lone.tellLoss()
    await lone.hears('reconnected')
    lone.server.notify('connectionDestroyed', { connectionId: 'con_b', reason: 'networkDisconnect' })
    await lone.hears('connectionDestroyed con_b networkDisconnect')
    await lone.elapse(2 * MEDIA_TIMES.comeback)
    expect(lone.log.slice(2)).toEqual([
      'streamDestroyed str_b networkDisconnect',
      'connectionDestroyed con_b networkDisconnect',
    ])
  })

  it('tells what happened in the gap, as the answer to rejoin shows it', async () => {
    lone.tellLoss(500)
    await lone.hears('reconnecting')
    lone.snapshot = {
      ...lone.snapshot,
      connections: [...lone.snapshot.connections, connectionInfo('con_c')],
      streams: [streamInfo('str_b', 'con_b', { videoActive: false }), streamInfo('str_c', 'con_c')],
    }
    await lone.hears('reconnected')
    expect(lone.log).toEqual([
      'reconnecting',
      'connectionCreated con_c',
      'streamPropertyChanged str_b videoActive publishVideo',
      'streamCreated str_c',
      'reconnected',
    ])
  })

  it('says it once when the socket goes with the node, and finds out from the snapshot', async () => {
    const publisher = await lone.publish()
    lone.loseMedia()
    lone.server.last.terminate()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
    expect(lone.since('publish', 1)).toMatchObject([{ params: { streamId: 'str_own1' } }])
    expect(publisher.published).toBe(true)
  })

  it('says it once when the socket goes after the node', async () => {
    await lone.publish()
    lone.server.answer('rejoin', () => 'silence')
    lone.tellLoss()
    await lone.passUntil('rejoin', () => lone.server.calls('rejoin').length === 1)
    lone.answers()
    lone.server.last.terminate()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
    expect(lone.server.calls('rejoin').map(({ socket }) => socket)).toEqual([1, 2])
  })

  it('finds out from a snapshot that it is sent', async () => {
    lone.loseMedia()
    lone.server.notify('snapshot', lone.snapshot)
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
  })

  it('goes through a second loss during the first one', async () => {
    await lone.publish()
    let losses = 0
    lone.server.answer('publish', ({ params }) => {
      if (++losses === 1) {
        lone.tellLoss(100)
        return refused('UNAVAILABLE')()
      }
      return { result: { streamId: params['streamId'], createdAt: 3 } }
    })
    lone.tellLoss()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
    expect(lone.engines.map(({ state }) => state)).toEqual(['retired', 'retired', 'open'])
    expect(lone.since('publish', 1).map(({ params }) => params['streamId'])).toEqual(['str_own1', 'str_own1'])
  })

  it('tries to rejoin for as long as there is no node', async () => {
    lone.server.answer('rejoin', refused('NO_CAPACITY'))
    lone.tellLoss()
    await lone.passUntil('many tries', () => lone.server.calls('rejoin').length > 12, 500)
    lone.answers()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
  })

  it('leaves when it may not rejoin', async () => {
    lone.server.answer('rejoin', refused('UNAUTHENTICATED'))
    lone.tellLoss()
    await lone.hears('sessionDisconnected nodeCrashed')
    expect(lone.member.state).toBe('disconnected')
    await until('the server hears that it leaves', () => lone.server.calls('leave').length === 1)
  })

  it('ends an own stream that it may not publish again, and goes on', async () => {
    await lone.publish()
    lone.server.answer('publish', refused('NOT_ALLOWED'))
    lone.tellLoss()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'own streamDestroyed str_own1 nodeCrashed', 'reconnected'])
    expect(lone.member.publishers.size).toBe(0)
  })

  it('publishes anew when the answer to publishing again was lost with its socket', async () => {
    await lone.publish()
    let tries = 0
    lone.server.answer('publish', ({ params }) => {
      const { streamId } = params
      if (++tries === 1) return (lone.server.last.terminate(), 'silence')
      return tries === 2 ? refused('CONFLICT')() : { result: { streamId, createdAt: 3 } }
    })
    lone.tellLoss()
    await lone.hears('reconnected')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
    const order = lone.server.received.map(({ method }) => method).filter((method) => /publish/.test(method))
    expect(order).toEqual(['publish', 'publish', 'publish', 'unpublish', 'publish'])
  })
})
