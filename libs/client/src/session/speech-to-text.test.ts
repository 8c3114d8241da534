import { type ErrorCode, ServiceError } from '@session-service/contract'
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals'
import { refused } from '../fixtures/fake-signalling-server.js'
import { ParticipantTestbed } from '../fixtures/participant-testbed.js'
import { until } from '../fixtures/manual-clock.js'
import { connectionInfo, streamInfo } from '../fixtures/samples.js'
import type { Stream } from '../streams/stream.js'
import { SPEECH_REPEAT } from './speech-to-text.js'

const done = () => ({ result: {} })

const sentence = (text: string, more: object = {}) => ({
  connectionId: 'con_b',
  streamId: 'str_b',
  lang: 'en-US',
  text,
  reason: 'recognized',
  raw: `{"text":"${text}"}`,
  timestamp: 1_700_000_000_000,
  ...more,
})

describe('speech to text', () => {
  let testbed: ParticipantTestbed
  beforeEach(async () => {
    testbed = await ParticipantTestbed.join()
  })
  afterEach(() => testbed.stop())

  const streamOf = (streamId = 'str_b'): Stream => {
    const stream = testbed.participant.stream(streamId)
    if (!stream) throw new Error(`no stream ${streamId}`)
    return stream
  }
  const subscribe = (lang = 'en-US', streamId = 'str_b'): Promise<void> =>
    testbed.participant.speechToText.subscribe(streamOf(streamId), lang)
  const unsubscribe = (streamId = 'str_b'): Promise<void> =>
    testbed.participant.speechToText.unsubscribe(streamOf(streamId))
  const requests = () => testbed.server.calls('subscribeToSpeechToText')
  /** The first repeated request needs time to pass; with more of it, one that is refused would be repeated again. */
  const passUntilBothRepeat = async () => {
    await testbed.passUntil('a repeated request', () => requests().length > 2)
    await until('both repeat', () => requests().length === 4)
  }
  const langs = () => requests().map(({ params }) => params['lang'])
  const say = (text: string, more: object = {}) => testbed.server.notify('speechToTextMessage', sentence(text, more))
  const hears = (text: string, streamId = 'str_b', reason = 'recognized') =>
    testbed.waitForEvent(`speechToTextMessage ${streamId} ${reason} ${text}`)
  const texts = () => testbed.log.filter((entry) => entry.startsWith('speechToTextMessage'))
  const disconnect = (lang = 'en-US') =>
    testbed.server.notify('speechToTextDisconnected', { connectionId: 'con_b', lang, message: 'the model failed' })
  const INTERRUPTED = 'exception SPEECH_TO_TEXT_DISCONNECTED'

  describe('subscribing', () => {
    it('emits the messages of the connection with its Stream object', async () => {
      await subscribe()
      expect(requests()[0]?.params).toEqual({ connectionId: 'con_b', lang: 'en-US' })
      say('hello', { reason: 'recognizing' })
      say('hello you', { words: [{ word: 'hello', start: 0, end: 0.4 }], endTime: 1_700_000_001_000 })
      await hears('hello you')
      const stream = streamOf()
      const events = testbed.events.filter(({ name }) => name === 'speechToTextMessage')
      expect(events.map(({ event }) => event)).toEqual([
        { ...common(), text: 'hello', raw: '{"text":"hello"}', reason: 'recognizing', words: [] },
        {
          ...common(),
          text: 'hello you',
          raw: '{"text":"hello you"}',
          reason: 'recognized',
          words: [{ word: 'hello', start: 0, end: 0.4 }],
          endTime: 1_700_000_001_000,
        },
      ])
      function common() {
        return { stream, connection: stream.connection, lang: 'en-US', timestamp: 1_700_000_000_000 }
      }
    })

    it('works for an own stream', async () => {
      await testbed.publish()
      await subscribe('en-US', 'str_own1')
      say('it is me', { connectionId: 'con_own', streamId: 'str_own1' })
      await hears('it is me', 'str_own1')
    })

    it.each<[ErrorCode]>([['DISABLED'], ['NOT_FOUND'], ['NOT_READY'], ['NO_CAPACITY'], ['LAUNCH_FAILED']])(
      'rejects with %s of the server, and can be called again',
      async (code) => {
        testbed.server.answer('subscribeToSpeechToText', refused(code))
        await expect(subscribe()).rejects.toMatchObject({ code, message: 'not now' })
        testbed.server.answer('subscribeToSpeechToText', done)
        await subscribe()
        expect(langs()).toEqual(['en-US', 'en-US'])
      },
    )

    it('rejects a second subscription in the same language with CONFLICT, also while the first is pending', async () => {
      const first = subscribe()
      await expect(subscribe()).rejects.toMatchObject({ code: 'CONFLICT' })
      await first
      await expect(subscribe()).rejects.toMatchObject({ code: 'CONFLICT' })
      expect(langs()).toEqual(['en-US'])
    })

    it('rejects a stream whose connection has ended with NOT_FOUND', async () => {
      const stream = streamOf()
      testbed.server.notify('connectionDestroyed', { connectionId: 'con_b', reason: 'disconnect' })
      await testbed.waitForEvent('connectionDestroyed con_b disconnect')
      await expect(testbed.participant.speechToText.subscribe(stream, 'en-US')).rejects.toMatchObject({
        code: 'NOT_FOUND',
      })
      expect(requests()).toEqual([])
    })

    it('replaces the language, and drops later messages of the former one', async () => {
      await subscribe('en-US')
      await subscribe('es-ES')
      say('late')
      say('hola', { lang: 'es-ES' })
      await hears('hola')
      expect(langs()).toEqual(['en-US', 'es-ES'])
      expect(texts()).toHaveLength(1)
    })

    it('keeps the former language when the service refuses the new one, without a gap', async () => {
      await subscribe('en-US')
      testbed.server.answer('subscribeToSpeechToText', ({ params, id }) => {
        if (params['lang'] === 'en-US') return done()
        say('meanwhile')
        testbed.server.send({ jsonrpc: '2.0', id, error: { code: 404, message: 'no such language model' } })
        return 'silence'
      })
      await expect(subscribe('xx-XX')).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await until('the former language again', () => langs().length === 3)
      say('afterwards')
      await hears('afterwards')
      expect(langs()).toEqual(['en-US', 'xx-XX', 'en-US'])
      expect(texts()).toHaveLength(2)
    })

    it('sends the calls for a connection in their order; a replaced call rejects', async () => {
      const outcomes = Promise.allSettled([subscribe('en-US'), subscribe('es-ES'), subscribe('fr-FR')])
      expect((await outcomes).map(({ status }) => status)).toEqual(['rejected', 'rejected', 'fulfilled'])
      expect(langs().at(-1)).toBe('fr-FR')
      say('bonjour', { lang: 'fr-FR' })
      await hears('bonjour')
    })
  })

  describe('unsubscribing', () => {
    it('ends the messages at once', async () => {
      await subscribe()
      const ending = unsubscribe()
      say('late')
      await ending
      expect(testbed.server.calls('unsubscribeFromSpeechToText')).toMatchObject([{ params: { connectionId: 'con_b' } }])
      await testbed.handled()
      expect(texts()).toEqual([])
    })

    it('of a pending subscription is sent after its answer, because the server would not know it before', async () => {
      testbed.server.answer('subscribeToSpeechToText', () => 'silence')
      const subscribing = expect(subscribe()).rejects.toMatchObject({ code: 'CONFLICT' })
      const request = await until('the request', () => requests()[0])
      const ending = unsubscribe()
      await testbed.handled()
      expect(testbed.server.calls('unsubscribeFromSpeechToText')).toEqual([])
      testbed.server.send({ jsonrpc: '2.0', id: request.id, result: {} })
      await Promise.all([subscribing, ending])
      expect(testbed.server.calls('unsubscribeFromSpeechToText')).toHaveLength(1)
    })

    it('rejects with NOT_FOUND without a subscription, and succeeds when the server has none', async () => {
      await expect(unsubscribe()).rejects.toMatchObject({ code: 'NOT_FOUND' })
      expect(testbed.server.calls('unsubscribeFromSpeechToText')).toEqual([])
      await subscribe()
      testbed.server.answer('unsubscribeFromSpeechToText', refused('NOT_FOUND'))
      await unsubscribe()
      await expect(unsubscribe()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    })
  })

  describe('after a failure of the recognition', () => {
    it('emits an exception and subscribes again at once', async () => {
      await subscribe()
      disconnect()
      await testbed.waitForEvent(INTERRUPTED)
      await until('the second request', () => requests().length === 2)
      say('back')
      await hears('back')
      expect(testbed.log).toEqual([INTERRUPTED, 'speechToTextMessage str_b recognized back'])
    })

    it('retries after about a second, with growing delays, until it succeeds', async () => {
      await subscribe()
      testbed.server.answer('subscribeToSpeechToText', refused('NOT_READY'))
      disconnect()
      await until('the second request', () => requests().length === 2)
      for (const [index, delay] of [1_000, 2_000, 4_000].entries()) {
        // Afterwards the refusal has arrived.
        await testbed.handled()
        testbed.clock.pass(delay - 1)
        await testbed.handled()
        expect(requests()).toHaveLength(index + 2)
        if (delay === 4_000) testbed.server.answer('subscribeToSpeechToText', done)
        testbed.clock.pass(1)
        await until(`the request after ${delay} ms`, () => requests().length === index + 3)
      }
      await testbed.elapse(60_000)
      expect(requests()).toHaveLength(5)
      expect(testbed.log).toEqual([INTERRUPTED])
    })

    it('subscribes again when a failure is reported before the answer to the request', async () => {
      await subscribe()
      let answers = 0
      testbed.server.answer('subscribeToSpeechToText', () => {
        if (++answers === 1) disconnect()
        return done()
      })
      disconnect()
      await testbed.passUntil('the third request', () => requests().length === 3)
      expect(testbed.log).toEqual([INTERRUPTED, INTERRUPTED])
    })

    it('does not subscribe again after an unsubscription', async () => {
      await subscribe()
      testbed.server.answer('subscribeToSpeechToText', refused('NOT_READY'))
      disconnect()
      await until('the second request', () => requests().length === 2)
      await unsubscribe()
      await testbed.elapse(30_000)
      expect(requests()).toHaveLength(2)
    })

    it('ends with a second exception when the service refuses permanently', async () => {
      await subscribe()
      testbed.server.answer('subscribeToSpeechToText', refused('DISABLED'))
      disconnect()
      await until('both exceptions', () => testbed.log.length === 2)
      expect(testbed.log).toEqual([INTERRUPTED, INTERRUPTED])
      await expect(unsubscribe()).rejects.toMatchObject({ code: 'NOT_FOUND' })
    })

    it('ignores failures of connections and languages without a subscription', async () => {
      disconnect()
      await testbed.handled()
      await subscribe()
      disconnect('es-ES')
      await testbed.handled()
      expect([requests().length, testbed.log]).toEqual([1, []])
    })
  })

  describe('of a publisher', () => {
    it('ends with its connection', async () => {
      await subscribe()
      testbed.server.answer('subscribeToSpeechToText', refused('NOT_READY'))
      disconnect()
      await until('the second request', () => requests().length === 2)
      testbed.server.notify('connectionDestroyed', { connectionId: 'con_b', reason: 'disconnect' })
      await testbed.waitForEvent('connectionDestroyed con_b disconnect')
      say('late')
      await testbed.elapse(30_000)
      expect([requests().length, texts()]).toEqual([2, []])
    })

    it('continues when it publishes again, and its last sentence may follow the end of a stream', async () => {
      await subscribe()
      say('good', { reason: 'recognizing' })
      testbed.server.notify('streamDestroyed', { streamId: 'str_b', connectionId: 'con_b', reason: 'unpublish' })
      say('good bye')
      await hears('good bye')
      testbed.server.notify('streamCreated', streamInfo('str_b2', 'con_b'))
      say('again', { streamId: 'str_b2' })
      await hears('again', 'str_b2')
      expect(requests()).toHaveLength(1)
    })
  })

  describe('after a loss', () => {
    it('of the media: makes all subscriptions again, and retries at once when a publisher returns', async () => {
      testbed.server.notify('connectionCreated', connectionInfo('con_c'))
      testbed.server.notify('streamCreated', streamInfo('str_c', 'con_c'))
      await testbed.waitForEvent('streamCreated str_c')
      await Promise.all([subscribe(), subscribe('es-ES', 'str_c')])
      let returned = false
      testbed.server.answer('subscribeToSpeechToText', ({ params }) =>
        params['connectionId'] === 'con_c' || returned ? done() : refused('NOT_FOUND')(),
      )
      const { connections } = testbed.snapshot
      testbed.snapshot = { ...testbed.snapshot, connections: [...connections, connectionInfo('con_c')] }
      testbed.notifyMediaLoss()
      await passUntilBothRepeat()
      // The answers precede this one: no refused request is on its way.
      await testbed.handled()
      returned = true
      const before = testbed.clock.now()
      testbed.server.notify('streamCreated', streamInfo('str_b', 'con_b'))
      await until('subscribed again', () => requests().length === 5)
      expect(testbed.clock.now()).toBe(before)
      expect(requests().at(-1)?.params).toEqual({ connectionId: 'con_b', lang: 'en-US' })
      await testbed.elapse(30_000)
      expect(requests()).toHaveLength(5)
      expect(testbed.log).not.toContain(INTERRUPTED)
    })

    it('of the media: a returning publisher repeats the subscription to it only', async () => {
      testbed.server.notify('connectionCreated', connectionInfo('con_c'))
      testbed.server.notify('streamCreated', streamInfo('str_c', 'con_c'))
      await testbed.waitForEvent('streamCreated str_c')
      await Promise.all([subscribe(), subscribe('es-ES', 'str_c')])
      testbed.server.answer('subscribeToSpeechToText', refused('NOT_FOUND'))
      const { connections } = testbed.snapshot
      testbed.snapshot = { ...testbed.snapshot, connections: [...connections, connectionInfo('con_c')] }
      testbed.notifyMediaLoss()
      await passUntilBothRepeat()
      await testbed.handled()
      const before = requests().length
      testbed.server.notify('streamCreated', streamInfo('str_b', 'con_b'))
      await until('the request', () => requests().length > before)
      await testbed.handled()
      expect(
        requests()
          .slice(before)
          .map(({ params }) => params['connectionId']),
      ).toEqual(['con_b'])
    })

    it('of the socket: repeats many subscriptions in rounds, because the server limits the rate of requests', async () => {
      const ids = Array.from({ length: SPEECH_REPEAT.perRound + 10 }, (_, index) => `${index}`)
      const { connections, streams } = testbed.snapshot
      testbed.snapshot = {
        ...testbed.snapshot,
        connections: [...connections, ...ids.map((id) => connectionInfo(`con_${id}`))],
        streams: [...streams, ...ids.map((id) => streamInfo(`str_${id}`, `con_${id}`))],
      }
      testbed.server.notify('snapshot', testbed.snapshot)
      await testbed.waitForEvent(`streamCreated str_${ids.length - 1}`)
      await Promise.all(ids.map((id) => subscribe('en-US', `str_${id}`)))
      testbed.server.last.terminate()
      await testbed.waitForEvent('reconnected')
      const repeated = (): number => requests().length - ids.length
      await until('the first round', () => repeated() >= SPEECH_REPEAT.perRound)
      await testbed.handled()
      expect(repeated()).toBe(SPEECH_REPEAT.perRound)
      testbed.clock.pass(SPEECH_REPEAT.roundMs)
      await until('the second round', () => repeated() === ids.length)
    })

    it('of the media: a new subscription waits until its stream is restored', async () => {
      testbed.notifyMediaLoss(1_000)
      await testbed.waitForEvent('reconnecting')
      const subscribing = subscribe()
      await testbed.waitForEvent('reconnected')
      expect(requests()).toEqual([])
      testbed.server.notify('streamCreated', streamInfo('str_b', 'con_b'))
      await subscribing
      expect(requests()).toHaveLength(1)
    })

    it('of the socket: repeats the subscriptions, because a failure may have been missed', async () => {
      await subscribe()
      testbed.server.last.terminate()
      await testbed.waitForEvent('reconnected')
      await until('the second request', () => requests().length === 2)
      expect(requests()[1]).toMatchObject({ socket: 2, params: { connectionId: 'con_b', lang: 'en-US' } })
    })

    it('of the socket during a call: the request is sent again', async () => {
      testbed.server.answer('subscribeToSpeechToText', () => 'silence')
      const subscribing = subscribe()
      await until('the request', () => requests().length === 1)
      testbed.server.answer('subscribeToSpeechToText', done)
      testbed.server.last.terminate()
      await testbed.waitForEvent('reconnected')
      await subscribing
      say('hello')
      await hears('hello')
    })

    it('of the session: pending calls reject, and nothing is sent any more', async () => {
      await subscribe()
      testbed.notifyMediaLoss(1_000)
      await testbed.waitForEvent('reconnecting')
      const pending = expect(subscribe('es-ES')).rejects.toBeInstanceOf(ServiceError)
      await testbed.participant.leave()
      await pending
      testbed.clock.pass(60_000)
      expect([requests().length, testbed.clock.pending]).toEqual([1, 0])
    })
  })
})
