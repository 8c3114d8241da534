import { ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { LoneMember } from '../fixtures/lone-member.js'
import { until } from '../fixtures/manual-clock.js'
import { streamInfo } from '../fixtures/samples.js'
import { stubTrack } from '../fixtures/stub-engine.js'
import { MEDIA_TIMES } from '../media/media-line.js'

const refused = (code: ConstructorParameters<typeof ServiceError>[0]) => () => ({
  error: new ServiceError(code, 'not now'),
})
const back = streamInfo('str_b', 'con_b')

describe('what is asked while the media is lost', () => {
  let lone: LoneMember
  beforeEach(async () => {
    lone = await LoneMember.join()
  })
  afterEach(() => lone.stop())
  const lose = async (): Promise<void> => {
    lone.tellLoss(1_000)
    await lone.hears('reconnecting')
  }

  it('publishing waits for the return', async () => {
    await lose()
    const publishing = lone.publish()
    await lone.hears('reconnected')
    expect((await publishing).stream?.streamId).toBe('str_own1')
    expect(lone.server.calls('publish')).toMatchObject([{ params: {} }])
    expect(lone.engines[0]?.offered).toEqual([])
  })

  it('subscribing waits until the stream is back, and fails when it does not come back', async () => {
    await lose()
    const { made } = lone.subscribe()
    await lone.hears('reconnected')
    expect(lone.server.calls('subscribe')).toEqual([])
    const failed = expect(made).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await lone.elapse(MEDIA_TIMES.comeback)
    await failed
  })

  it('muting holds at once and is told after the return', async () => {
    const publisher = await lone.publish()
    await lose()
    const muting = publisher.publishAudio(false)
    expect(publisher.audioActive).toBe(false)
    await lone.hears('reconnected')
    await muting
    expect(lone.since('publish', 1)).toMatchObject([{ params: { audioActive: false } }])
    expect(publisher.stream?.audioActive).toBe(false)
    expect(lone.log).toContain('streamPropertyChanged str_own1 audioActive publishAudio')
  })

  it('another track is what is sent after the return', async () => {
    const publisher = await lone.publish()
    await lose()
    const track = stubTrack('video')
    const replacing = publisher.replaceTrack(track)
    await lone.hears('reconnected')
    await replacing
    expect(lone.engines[1]?.offered.flat().map((sent) => sent.track)).toContain(track)
  })

  it('what is unpublished stays so', async () => {
    const publisher = await lone.publish()
    await lose()
    lone.server.answer('unpublish', refused('UNAVAILABLE'))
    await publisher.unpublish()
    await lone.hears('reconnected')
    expect(lone.since('publish', 1)).toEqual([])
    expect(lone.log).toEqual(['reconnecting', 'own streamDestroyed str_own1 unpublish', 'reconnected'])
  })

  it('what is unsubscribed from in the gap is not received again', async () => {
    const { subscriber, made } = lone.subscribe()
    await made
    await lose()
    lone.member.subscribers.delete('str_b')
    subscriber.destroyed()
    lone.snapshot = { ...lone.snapshot, streams: [back] }
    await lone.hears('reconnected')
    expect(lone.since('subscribe', 1)).toEqual([])
  })

  it('leaving works at once, and what waits fails', async () => {
    const publisher = await lone.publish()
    await lose()
    const waiting = [lone.publish(), lone.subscribe().made, publisher.publishVideo(false)]
    const outcomes = Promise.allSettled(waiting)
    await lone.member.leave()
    for (const outcome of await outcomes)
      expect(outcome).toEqual({ status: 'rejected', reason: expect.any(ServiceError) })
    expect(lone.log.slice(1)).toEqual([
      'own streamDestroyed str_own1 disconnect',
      'subscriber streamDestroyed str_b disconnect',
      'sessionDisconnected disconnect',
    ])
    lone.clock.pass(60_000)
    expect(lone.server.calls('rejoin')).toEqual([])
    expect(lone.clock.pending).toBe(0)
    expect(lone.engines.map(({ state }) => state)).toEqual(['closed'])
  })
})

describe('a loss during a call', () => {
  let lone: LoneMember
  beforeEach(async () => {
    lone = await LoneMember.join()
  })
  afterEach(() => lone.stop())

  it('publishing succeeds on the next node, though the loss is known later than the failure', async () => {
    let tries = 0
    lone.server.answer('publish', () => {
      if (++tries > 1) return { result: { streamId: 'str_new', createdAt: 3 } }
      return refused('UNAVAILABLE')()
    })
    const publishing = lone.publish()
    await until('the first try', () => tries === 1)
    lone.tellLoss()
    await lone.hears('reconnected')
    expect((await publishing).stream?.streamId).toBe('str_new')
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
  })

  it('a publication whose answer crosses with the loss comes back under its id', async () => {
    lone.server.answer('publish', ({ params, id }) => {
      if (params['streamId']) return { result: { streamId: params['streamId'], createdAt: 3 } }
      lone.tellLoss()
      lone.server.send({ jsonrpc: '2.0', id, result: { streamId: 'str_crossed', createdAt: 3 } })
      return 'silence'
    })
    const publisher = await lone.publish()
    await lone.passUntil('published again', () => lone.since('publish', 1).length === 1)
    expect(lone.since('publish', 1)).toMatchObject([{ params: { streamId: 'str_crossed' } }])
    await lone.elapse(2 * MEDIA_TIMES.comeback)
    expect(publisher.published).toBe(true)
    expect([...lone.member.roster.streams.keys()]).toContain('str_crossed')
  })

  it('subscribing succeeds on the next node', async () => {
    lone.server.answer('subscribe', () => 'silence')
    const { made } = lone.subscribe()
    await until('asked', () => lone.server.calls('subscribe').length === 1)
    const [call] = lone.server.calls('subscribe')
    lone.answers()
    lone.tellLoss()
    lone.snapshot = { ...lone.snapshot, streams: [back] }
    await lone.hears('reconnecting')
    const error = { code: 503, message: 'the media is being moved' }
    lone.server.send({ jsonrpc: '2.0', id: call?.id, error })
    await lone.hears('reconnected')
    await made
    expect(lone.log).toEqual(['reconnecting', 'reconnected'])
  })
})
