import { ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { refused } from '../fixtures/fake-signalling-server.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'
import { streamInfo } from '../fixtures/samples.js'
import { stubTrack } from '../fixtures/stub-engine.js'
import { MEDIA_TIMEOUTS } from '../media/media-connection.js'

const back = streamInfo('str_b', 'con_b')

describe('calls while the media is lost', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())
  const lose = async (): Promise<void> => {
    testbed.notifyMediaLoss(1_000)
    await testbed.waitForEvent('reconnecting')
  }

  it('publish waits until the media is restored', async () => {
    await lose()
    const publishing = testbed.publish()
    await testbed.waitForEvent('reconnected')
    expect((await publishing).stream?.streamId).toBe('str_own1')
    expect(testbed.server.calls('publish')).toMatchObject([{ params: {} }])
    expect(testbed.engines[0]?.offered).toEqual([])
  })

  it('subscribe waits until the stream is restored, and rejects when it ends instead', async () => {
    await lose()
    const { established } = testbed.subscribe()
    await testbed.waitForEvent('reconnected')
    expect(testbed.server.calls('subscribe')).toEqual([])
    const failed = expect(established).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await testbed.elapse(MEDIA_TIMEOUTS.restoreStreams)
    await failed
  })

  it('muting takes effect at once and is sent after the restoration', async () => {
    const publisher = await testbed.publish()
    await lose()
    const muting = publisher.publishAudio(false)
    expect(publisher.audioActive).toBe(false)
    await testbed.waitForEvent('reconnected')
    await muting
    expect(testbed.callsAfter('publish', 1)).toMatchObject([{ params: { audioActive: false } }])
    expect(publisher.stream?.audioActive).toBe(false)
    expect(testbed.log).toContain('streamPropertyChanged str_own1 audioActive publishAudio')
  })

  it('a replaced track is sent after the restoration', async () => {
    const publisher = await testbed.publish()
    await lose()
    const track = stubTrack('video')
    const replacing = publisher.replaceTrack(track)
    await testbed.waitForEvent('reconnected')
    await replacing
    expect(testbed.engines[1]?.offered.flat().map((sent) => sent.track)).toContain(track)
  })

  it('an unpublished stream is not published again', async () => {
    const publisher = await testbed.publish()
    await lose()
    testbed.server.answer('unpublish', refused('UNAVAILABLE'))
    await publisher.unpublish()
    await testbed.waitForEvent('reconnected')
    expect(testbed.callsAfter('publish', 1)).toEqual([])
    expect(testbed.log).toEqual(['reconnecting', 'own streamDestroyed str_own1 unpublish', 'reconnected'])
  })

  it('an unsubscribed stream is not received again', async () => {
    const { subscriber, established } = testbed.subscribe()
    await established
    await lose()
    testbed.participant.subscribers.delete('str_b')
    subscriber.destroyed()
    testbed.snapshot = { ...testbed.snapshot, streams: [back] }
    await testbed.waitForEvent('reconnected')
    expect(testbed.callsAfter('subscribe', 1)).toEqual([])
  })

  it('leave works at once, and waiting calls reject', async () => {
    const publisher = await testbed.publish()
    await lose()
    const waiting = [testbed.publish(), testbed.subscribe().established, publisher.publishVideo(false)]
    const outcomes = Promise.allSettled(waiting)
    await testbed.participant.leave()
    for (const outcome of await outcomes)
      expect(outcome).toEqual({ status: 'rejected', reason: expect.any(ServiceError) })
    expect(testbed.log.slice(1)).toEqual([
      'own streamDestroyed str_own1 disconnect',
      'subscriber streamDestroyed str_b disconnect',
      'sessionDisconnected disconnect',
    ])
    testbed.clock.pass(60_000)
    expect(testbed.server.calls('rejoin')).toEqual([])
    expect(testbed.clock.pending).toBe(0)
    expect(testbed.engines.map(({ state }) => state)).toEqual(['closed'])
  })
})

describe('a loss during a call', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  it('publish succeeds on the next node, although the failure precedes the report of the loss', async () => {
    let tries = 0
    testbed.server.answer('publish', () => {
      if (++tries > 1) return { result: { streamId: 'str_new', createdAt: 3 } }
      return refused('UNAVAILABLE')()
    })
    const publishing = testbed.publish()
    await until('the first attempt', () => tries === 1)
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    expect((await publishing).stream?.streamId).toBe('str_new')
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
  })

  it('a publication is restored with its id when its answer crosses with the loss', async () => {
    testbed.server.answer('publish', ({ params, id }) => {
      if (params['streamId']) return { result: { streamId: params['streamId'], createdAt: 3 } }
      testbed.notifyMediaLoss()
      testbed.server.send({ jsonrpc: '2.0', id, result: { streamId: 'str_crossed', createdAt: 3 } })
      return 'silence'
    })
    const publisher = await testbed.publish()
    await testbed.passUntil('published again', () => testbed.callsAfter('publish', 1).length === 1)
    expect(testbed.callsAfter('publish', 1)).toMatchObject([{ params: { streamId: 'str_crossed' } }])
    await testbed.elapse(2 * MEDIA_TIMEOUTS.restoreStreams)
    expect(publisher.published).toBe(true)
    expect([...testbed.participant.roster.streams.keys()]).toContain('str_crossed')
  })

  it('subscribe succeeds on the next node', async () => {
    testbed.server.answer('subscribe', () => 'silence')
    const { established } = testbed.subscribe()
    await until('the request', () => testbed.server.calls('subscribe').length === 1)
    const [call] = testbed.server.calls('subscribe')
    testbed.answerAll()
    testbed.notifyMediaLoss()
    testbed.snapshot = { ...testbed.snapshot, streams: [back] }
    await testbed.waitForEvent('reconnecting')
    const error = { code: 503, message: 'the media is being moved' }
    testbed.server.send({ jsonrpc: '2.0', id: call?.id, error })
    await testbed.waitForEvent('reconnected')
    await established
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
  })
})
