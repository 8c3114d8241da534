import { SENTENCES, testEngine, type TestEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { type RestAnswer, type Stack, startStack, SyntheticParticipant, until } from '@session-service/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { ModelsFolder, nextSentences, recognizedBy, saying, subscribeToSpeech } from './fixtures/speakers.js'

const LONG_MS = 120_000
const SENTENCE = SENTENCES[0] ?? ''
const [ONE, TWO] = ['media_one', 'media_two'] as const
const TWO_SLOTS = { MEDIA_NODE_SPEECH_TO_TEXT_SLOTS: '2' }

const vosk = testEngine('vosk')
const describeSpeech = vosk ? describe : describe.skip

describeSpeech('speech to text with real media nodes and a real model', () => {
  let models: ModelsFolder
  let stack: Stack
  const participants: SyntheticParticipant[] = []

  beforeAll(async () => {
    models = new ModelsFolder(vosk as TestEngine)
    stack = await startStack({ nodes: 0, masters: 2, masterEnv: models.masterEnv, nodeEnv: models.nodeEnv })
    await Promise.all([ONE, TWO].map((MEDIA_NODE_ID) => stack.addNode({ MEDIA_NODE_ID, ...TWO_SLOTS })))
  }, LONG_MS)
  afterAll(async () => {
    await stack.stop()
    models.remove()
  })
  afterEach(async () => {
    await Promise.all(participants.splice(0).map((each) => each.close()))
    for (const { id } of (await stack.api.listSessions()).content) await stack.api.deleteSession(id)
    for (const id of [ONE, TWO]) await until('no model is left', () => unloadAll(id), 30_000)
  })

  const send = (action: 'load' | 'unload', lang: string, id: string): Promise<RestAnswer> =>
    stack.rest('POST', `/speech-to-text/${action}`, { lang, mediaNode: { id } })
  const statusOf = async (action: 'load' | 'unload', lang: string, id: string): Promise<number> =>
    (await send(action, lang, id)).status
  const modelsOf = async (id: string) => (await stack.api.getMediaNode(id)).languageModels
  const showsModels = (id: string, ...langs: string[]): Promise<unknown> =>
    until(`${id} shows ${langs.join() || 'no models'}`, async () => {
      const shown = (await modelsOf(id))?.map(({ lang, status }) => `${lang} ${status}`)
      return shown?.join() === langs.map((lang) => `${lang} loaded`).join()
    })
  async function unloadAll(id: string): Promise<boolean> {
    const shown = (await modelsOf(id)) ?? []
    await Promise.all(shown.map(({ lang }) => send('unload', lang, id)))
    return shown.length === 0
  }

  async function join(sessionId: string, master: number): Promise<SyntheticParticipant> {
    const { token } = await stack.api.createConnection(sessionId)
    const participant = await SyntheticParticipant.join(stack.atMaster(master, token))
    participants.push(participant)
    return participant
  }

  /** Alice speaks at the second master; bob joins at the first one. */
  async function meeting(
    node: string,
  ): Promise<{ alice: SyntheticParticipant; bob: SyntheticParticipant; id: string }> {
    const { id } = await stack.api.createSession({ mediaNode: { id: node } })
    const [bob, alice] = [await join(id, 0), await join(id, 1)]
    await alice.publish(saying(SENTENCE))
    return { alice, bob, id }
  }

  it(
    'loads and unloads models of two languages on two nodes, with the statuses of the contract',
    async () => {
      expect(await statusOf('load', 'xx-XX', ONE)).toBe(404)
      expect(await statusOf('unload', 'xx-XX', ONE)).toBe(404)
      expect(await statusOf('load', '../en-US', ONE)).toBe(404)
      const loads = await Promise.all(Array.from({ length: 20 }, () => statusOf('load', 'en-US', ONE)))
      expect(loads.toSorted()).toEqual([200, ...Array<number>(19).fill(409)])
      expect(await statusOf('unload', 'en-US', TWO)).toBe(409)
      expect(await statusOf('load', 'en-GB', ONE)).toBe(200)
      expect(await statusOf('load', 'en-GB', TWO)).toBe(200)
      expect(await modelsOf(TWO)).toMatchObject([{ lang: 'en-GB', status: 'loaded' }])
      // No slot is free, and nothing is unloaded for another model.
      const refused = await send('load', 'en-AU', ONE)
      expect(refused).toMatchObject({ status: 503, body: { message: expect.stringContaining('slots') } })
      expect(refused.headers.get('retry-after')).not.toBeNull()
      const { mediaserverInfo } = await stack.api.getMediaNode(ONE, { 'extra-info': 'true' })
      expect(mediaserverInfo?.slots.speechToText).toEqual({ used: 2, total: 2 })
      await showsModels(ONE, 'en-GB', 'en-US')
      expect(await modelsOf(TWO)).toEqual([{ lang: 'en-GB', status: 'loaded', streams: 0, memory: expect.any(Number) }])
      for (const [lang, id] of [
        ['en-US', ONE],
        ['en-GB', ONE],
        ['en-GB', TWO],
      ] as const) {
        expect(await statusOf('unload', lang, id)).toBe(200)
        expect(await statusOf('unload', lang, id)).toBe(409)
      }
      await showsModels(ONE)
    },
    LONG_MS,
  )

  it(
    'sends the sentences of a speaker to its subscribers, each in its language, and 405 protects the models in use',
    async () => {
      const { alice, bob, id } = await meeting(ONE)
      const carol = await join(id, 1)
      expect(await statusOf('load', 'en-GB', ONE)).toBe(200)
      await subscribeToSpeech(bob, alice.connectionId, 'en-US')
      await subscribeToSpeech(carol, alice.connectionId, 'en-GB')
      const [american, british] = await Promise.all([nextSentences(bob, 2), nextSentences(carol, 2)])
      for (const [sentences, lang] of [
        [american, 'en-US'],
        [british, 'en-GB'],
      ] as const)
        for (const sentence of sentences) {
          expect(sentence).toMatchObject({ lang, connectionId: alice.connectionId, reason: 'recognized' })
          expect(sentence.streamId).toBe(alice.published[0]?.streamId)
        }
      // The first one may have been cut by the subscription.
      expect(wordErrorRate(SENTENCE, american[1]?.text ?? '')).toBeLessThanOrEqual(0.25)
      expect(recognizedBy(alice)).toEqual([])
      expect(await statusOf('unload', 'en-GB', ONE)).toBe(405)
      await carol.call('unsubscribeFromSpeechToText', { connectionId: alice.connectionId })
      expect(await statusOf('unload', 'en-GB', ONE)).toBe(200)
      await expect(
        carol.call('unsubscribeFromSpeechToText', { connectionId: alice.connectionId }),
      ).rejects.toMatchObject({ code: 'NOT_FOUND' })
      const { timestamp = 0 } = recognizedBy(bob).at(-1) ?? {}
      expect((await nextSentences(bob))[0]?.timestamp).toBeGreaterThan(timestamp)
    },
    LONG_MS,
  )

  it(
    'continues after kill -9 of the master of the subscriber, which resumes at the other one, and the transcript is complete',
    async () => {
      const { alice, bob, id } = await meeting(ONE)
      await subscribeToSpeech(bob, alice.connectionId)
      await nextSentences(bob)
      const [first] = stack.masters
      if (!first) throw new Error('there is no master')
      first.kill('SIGKILL')
      await bob.socketClosed
      await bob.resume(stack.atMaster(1, bob.url))
      await nextSentences(bob, 2)
      const received = recognizedBy(bob).map(({ timestamp }) => timestamp)
      expect(new Set(received).size).toBe(received.length)
      // The transcript has all of them, and those that were recognized while bob had no socket.
      const second = stack.apiOf(1)
      const stored = async (): Promise<number[]> =>
        (await second.getTranscript(id)).content.map(({ startTime }) => startTime)
      await until('the transcript is complete', async () => {
        const times = await stored()
        return received.every((timestamp) => times.includes(Math.round(timestamp)))
      })
      const times = await stored()
      expect(new Set(times).size).toBe(times.length)
      await stack.revive(first)
    },
    LONG_MS,
  )

  it(
    'continues on another node after kill -9 of the node, whose models leave its view',
    async () => {
      const { alice, bob } = await meeting(ONE)
      await subscribeToSpeech(bob, alice.connectionId)
      await nextSentences(bob)
      expect(await statusOf('load', 'en-GB', TWO)).toBe(200)
      const node = stack.nodes.find(({ env }) => env.MEDIA_NODE_ID === ONE)
      if (!node) throw new Error('there is no node')
      node.kill('SIGKILL')
      await Promise.all(
        [alice, bob].map((each) => until('the participant has rejoined', () => each.mediaEpoch > 1, 40_000)),
      )
      await subscribeToSpeech(bob, alice.connectionId)
      await nextSentences(bob, 2)
      expect((await stack.api.getMediaNode(ONE)).languageModels).toBeUndefined()
      await showsModels(TWO, 'en-GB', 'en-US')
      await stack.revive(node)
      await until('the node has registered again', async () => (await modelsOf(ONE))?.length === 0, 30_000)
    },
    LONG_MS,
  )
})
