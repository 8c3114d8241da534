import { ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import type { Received } from '../fixtures/fake-signalling-server.js'
import { until } from '../fixtures/manual-clock.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import type { Subscriber } from './subscriber.js'

const refused = { error: new ServiceError('RATE_LIMITED', 'try again later') } as const
const done = { result: {} } as const

describe('a subscriber whose changes the server refuses', () => {
  let testbed: ParticipantTestbed
  let subscriber: Subscriber
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
    const subscription = testbed.subscribe()
    await subscription.established
    subscriber = subscription.subscriber
  })
  afterEach(() => testbed.stop())
  const isAudioEnabled = (): unknown => subscriber.mediaStream.getTracks().find(({ kind }) => kind === 'audio')?.enabled
  /** Switches the audio off and on at once; the server answers the two calls in order. */
  const switchTwice = async (...answers: (typeof refused | typeof done)[]): Promise<void> => {
    testbed.server.answer('changeSubscription', () => answers.shift() ?? done)
    await Promise.allSettled([subscriber.subscribeToAudio(false), subscriber.subscribeToAudio(true)])
  }

  it.each([
    ['both of two opposite changes', [refused, refused], true],
    ['the first of two opposite changes', [refused, done], true],
    ['the second of two opposite changes', [done, refused], false],
  ])('plays what the server sends after it refused %s', async (_, answers, enabled) => {
    await switchTwice(...answers)
    expect(isAudioEnabled()).toBe(enabled)
    const before = testbed.server.calls('changeSubscription').length
    await subscriber.subscribeToAudio(enabled)
    expect(testbed.server.calls('changeSubscription')).toHaveLength(before)
  })

  it('plays what the server sends since a loss of the media when it refuses a change', async () => {
    await subscriber.subscribeToAudio(false)
    testbed.notifyMediaLoss()
    await testbed.waitForEvent('reconnected')
    const audio = subscriber.subscribeToAudio(true).catch(() => 'refused')
    const changes: Received[] = []
    testbed.server.answer('changeSubscription', (call) => (changes.push(call), changes.length === 1 ? done : refused))
    testbed.server.notify('streamCreated', testbed.participant.stream('str_b')?.info())
    expect(await audio).toBe('refused')
    expect(changes).toMatchObject([{ params: { video: true } }, { params: { audio: true } }])
    expect(isAudioEnabled()).toBe(true)
  })

  it('prefers the accepted layers after the server refused two choices', async () => {
    const layers = [0, 1, 2].map((spatialLayer) => ({ spatialLayer }))
    await subscriber.setPreferredLayers(layers[0]!)
    testbed.server.answer('changeSubscription', () => refused)
    await Promise.allSettled(layers.slice(1).map((each) => subscriber.setPreferredLayers(each)))
    testbed.answerAll()
    const before = testbed.server.calls('changeSubscription').length
    subscriber.replaced()
    await until('the choice', () => testbed.server.calls('changeSubscription').length > before)
    expect(testbed.server.calls('changeSubscription').at(-1)?.params).toMatchObject({ preferredLayers: layers[0] })
  })
})

describe('subscribe with a target that does not exist', () => {
  beforeEach(() => {
    Object.assign(globalThis, { Element: class {}, document: { querySelector: () => null } })
  })
  afterEach(() => ['Element', 'document'].forEach((name) => Reflect.deleteProperty(globalThis, name)))

  it('rejects without subscribing', async () => {
    const testbed = await ParticipantTestbed.join()
    const { participant, server } = testbed
    const stream = participant.stream('str_b')
    if (!stream) throw new Error('the stream does not exist')
    await expect(participant.subscribe(stream, {}, '#missing')).rejects.toThrow(/no element matches "#missing"/)
    expect([participant.subscribers.size, server.calls('subscribe').length]).toEqual([0, 0])
    await testbed.stop()
  })
})
