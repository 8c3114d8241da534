import type { types } from 'mediasoup-client'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { until } from '../fixtures/manual-clock.js'
import { refused } from '../fixtures/fake-signalling-server.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { streamInfo } from '../fixtures/samples.js'
import type { Subscriber } from './subscriber.js'

describe('a subscription whose tracks the server replaces', () => {
  let testbed: ParticipantTestbed
  let subscriber: Subscriber
  let consumers: types.Consumer[]
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
    const { subscriber: subscribed, established } = testbed.subscribe()
    subscriber = subscribed
    consumers = recordConsumers()
    await established
  })
  afterEach(() => testbed.stop())

  /** All consumers that the engine creates from now on. */
  function recordConsumers(): types.Consumer[] {
    const created: types.Consumer[] = []
    const [engine] = testbed.engines
    const consume = engine!.consume.bind(engine)
    engine!.consume = async (...call) => {
      const made = await consume(...call)
      created.push(...made)
      return made
    }
    return created
  }

  const notify = (): void => testbed.server.notify('subscriptionReplaced', { streamId: 'str_b' })
  const subscriptions = (): unknown[] => testbed.callsAfter('subscribe', 1).map(({ params }) => params['replace'])
  const tracks = (): unknown[] => subscriber.mediaStream.getTracks()
  /** Waits until the subscriber plays the tracks of the consumers from this one on. */
  const plays = (from: number): Promise<boolean> =>
    testbed.passUntil(`the tracks of consumer ${from}`, () => tracks().includes(consumers[from]?.track))

  it('plays the new tracks in the same media stream, with the state that the application wants', async () => {
    await subscriber.subscribeToAudio(false)
    await subscriber.setPreferredLayers({ spatialLayer: 1 })
    const { mediaStream } = subscriber
    notify()
    await plays(2)
    expect(subscriptions()).toEqual([true])
    expect(testbed.server.calls('changeSubscription').at(-1)?.params).toEqual({
      streamId: 'str_b',
      audio: false,
      video: true,
      preferredLayers: { spatialLayer: 1 },
    })
    expect(subscriber.mediaStream).toBe(mediaStream)
    expect(tracks()).toEqual(consumers.slice(2).map(({ track }) => track))
    expect(consumers.map(({ closed }) => closed)).toEqual([true, true, false, false])
    expect(consumers.slice(2).map(({ track }) => track.enabled)).toEqual([false, true])
    expect(testbed.log).toEqual([])
  })

  it('keeps the former tracks until the server sends the new ones', async () => {
    testbed.server.answer('changeSubscription', () => 'silence')
    notify()
    const call = await until('the request', () => testbed.callsAfter('changeSubscription', 1)[0])
    expect(tracks()).toEqual(consumers.slice(0, 2).map(({ track }) => track))
    testbed.server.send({ jsonrpc: '2.0', id: call.id, result: {} })
    await plays(2)
  })

  it('subscribes once more when its tracks are replaced during the replacement', async () => {
    let answered = 0
    testbed.answerAll()
    const { server } = testbed
    const [first] = server.calls('subscribe')
    expect(first?.params['replace']).toBeUndefined()
    server.answer('changeSubscription', () => {
      if (++answered === 1) notify()
      return { result: {} }
    })
    notify()
    await plays(4)
    expect(subscriptions()).toEqual([true, true])
    expect(consumers.map(({ closed }) => closed)).toEqual([true, true, true, true, false, false])
  })

  it('tries again after a transient error and plays the former tracks meanwhile', async () => {
    testbed.server.answer('subscribe', refused('UNAVAILABLE'))
    notify()
    await testbed.passUntil('two attempts', () => subscriptions().length >= 2)
    expect(tracks()).toEqual(consumers.slice(0, 2).map(({ track }) => track))
    testbed.answerAll()
    await plays(2)
  })

  it('keeps the former tracks when the server refuses', async () => {
    testbed.server.answer('subscribe', refused('NOT_ALLOWED'))
    notify()
    await until('the attempt', () => subscriptions().length === 1)
    await testbed.elapse(10_000)
    expect(subscriptions()).toHaveLength(1)
    expect(tracks()).toEqual(consumers.map(({ track }) => track))
    expect(consumers.every(({ closed }) => !closed)).toBe(true)
  })

  it('subscribes at the next node, without replacing, when the media is lost during the replacement', async () => {
    testbed.server.answer('subscribe', () => 'silence')
    notify()
    const call = await until('the request', () => testbed.callsAfter('subscribe', 1)[0])
    testbed.answerAll()
    testbed.notifyMediaLoss()
    testbed.snapshot = { ...testbed.snapshot, streams: [streamInfo('str_b', 'con_b')] }
    await testbed.waitForEvent('reconnecting')
    testbed.server.send({ jsonrpc: '2.0', id: call.id, error: { code: 503, message: 'the media is being moved' } })
    await testbed.waitForEvent('reconnected')
    await until('the subscription', () => testbed.engines[1]?.consumed.length === 1)
    expect(subscriptions()).toEqual([true, undefined])
    expect(testbed.log).toEqual(['reconnecting', 'reconnected'])
    expect(consumers.every(({ closed }) => closed)).toBe(true)
  })

  it('changes of the application wait for the replacement', async () => {
    testbed.server.answer('subscribe', () => 'silence')
    notify()
    const call = await until('the request', () => testbed.callsAfter('subscribe', 1)[0])
    const before = testbed.server.calls('changeSubscription').length
    const muting = subscriber.subscribeToVideo(false)
    testbed.answerAll()
    const track = { producerId: 'p', rtpParameters: { codecs: [], encodings: [{}] } }
    const result = { createdAt: 4, tracks: [{ ...track, id: 'v2', kind: 'video', paused: true }] }
    await testbed.elapse(1_000)
    expect(testbed.server.calls('changeSubscription')).toHaveLength(before)
    testbed.server.send({ jsonrpc: '2.0', id: call.id, result })
    await muting
    expect(testbed.callsAfter('changeSubscription', before)).toMatchObject([{ params: { video: false } }])
    expect(consumers.at(-1)?.track.enabled).toBe(false)
  })

  it('an ended subscription does not subscribe again', async () => {
    testbed.participant.subscribers.delete('str_b')
    subscriber.destroyed()
    notify()
    await testbed.elapse(1_000)
    subscriber.replaced()
    await testbed.elapse(1_000)
    expect(subscriptions()).toEqual([])
  })
})

it('a subscription whose tracks are replaced before its answer arrives subscribes once more', async () => {
  const testbed = await ParticipantTestbed.join()
  testbed.server.answer('subscribe', () => 'silence')
  const { established } = testbed.subscribe()
  const call = await until('the request', () => testbed.server.calls('subscribe')[0])
  testbed.answerAll()
  testbed.server.notify('subscriptionReplaced', { streamId: 'str_b' })
  const result = { createdAt: 4, tracks: [] }
  testbed.server.send({ jsonrpc: '2.0', id: call.id, result })
  await established
  await until('the replacement', () => testbed.callsAfter('subscribe', 1).length === 1)
  expect(testbed.callsAfter('subscribe', 1)).toMatchObject([{ params: { replace: true } }])
  await testbed.stop()
})

it('the layers of a subscription change once for repeated reports, and end with the media', async () => {
  const testbed = await ParticipantTestbed.join()
  const { subscriber, established } = testbed.subscribe()
  await established
  const changes: unknown[] = []
  subscriber.on('layersChanged', ({ layers }) => changes.push(layers))
  const layers = { spatialLayer: 2, temporalLayer: 1 }
  for (let report = 0; report < 2; report++) testbed.server.notify('layersChanged', { streamId: 'str_b', layers })
  await testbed.handled()
  expect([subscriber.layers, changes]).toEqual([layers, [layers]])
  testbed.notifyMediaLoss()
  await testbed.waitForEvent('reconnecting')
  expect([subscriber.layers, changes]).toEqual([null, [layers, null]])
  await testbed.stop()
})
