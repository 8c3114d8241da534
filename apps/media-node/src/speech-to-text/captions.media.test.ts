/** @quiet A busy engine skips partial results. Spoken sentences in rooms with real mediasoup, as text of the real engines. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals'
import type { SpeechToTextMessage } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { SENTENCES, TEST_ENGINES, type TestEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { Captions } from './fixtures/captions.js'
import { ModelsFolder } from './fixtures/models-folder.js'

const LONG_MS = 120_000
const [HELLO = '', HEAR = ''] = SENTENCES

const describeEngines =
  TEST_ENGINES.length > 0 ? describe.each(TEST_ENGINES) : describe.skip.each([{ name: 'no engine' }])

describeEngines('captions with $name', (tested) => {
  const engine = tested as TestEngine
  const models = new ModelsFolder()
  let captions: Captions

  beforeAll(async () => {
    models.link('en-US', engine)
    models.link('en-GB', engine)
    captions = await Captions.start(engine, { models })
  }, LONG_MS)
  afterAll(async () => {
    await captions.stop()
    models.remove()
  })

  it(
    'each sentence reaches all subscribers once, after partial results, with its time in UTC',
    async () => {
      const { roomId, pub } = await captions.room(['sub', 'other'])
      for (const connectionId of ['sub', 'other', 'pub']) await captions.subscribe(roomId, connectionId)
      expect(captions.service.languageModels).toMatchObject([{ lang: 'en-US', status: 'loaded', streams: 1 }])
      const said = await pub.say([HELLO, HEAR], 1)
      const recognized = await captions.recognized(roomId, 2)
      expect(recognized.map(({ text }, at) => wordErrorRate(said[at]!.text, text) <= 0.25)).toEqual([true, true])
      for (const [at, { timestamp, endTime = 0, words }] of recognized.entries()) {
        const { startedAt, endedAt } = said[at]!
        const figures = { timestamp, endTime, startedAt, endedAt, words }
        const isInTime = Math.abs(timestamp - startedAt) < 300 && Math.abs(endTime - endedAt) < 450
        expect({ figures, isInTime }).toEqual({ figures, isInTime: true })
      }
      const events = captions.events(roomId, 'speechToText')
      for (const { to, message } of events) {
        expect(to.toSorted()).toEqual(['other', 'pub', 'sub'])
        expect(message).toMatchObject({ connectionId: 'pub', streamId: 'str', lang: 'en-US' })
      }
      expect(events[0]!.message.reason).toBe('recognizing')
      const texts = captions.messages(roomId, 'recognizing').map(({ text }) => text)
      expect(texts.length).toBeGreaterThan(2)
      expect(texts.filter((text, at) => text === texts[at - 1])).toEqual([])
      await captions.unsubscribe(roomId, 'other')
      await expect(captions.unsubscribe(roomId, 'other')).rejects.toMatchObject({ code: 'NOT_FOUND' })
      await pub.say([HEAR])
      await captions.recognized(roomId, 3)
      expect(captions.events(roomId, 'speechToText').at(-1)!.to).toEqual(['sub', 'pub'])
      await captions.stack.service.closeRoom({ roomId, epoch: 1 })
      await until('no stream is left', () => captions.service.streams === 0)
    },
    LONG_MS,
  )

  it(
    'the transcript has each sentence once, also the last words of a participant that leaves while it speaks',
    async () => {
      const { roomId, pub } = await captions.room(['sub', 'other'])
      Object.assign(captions.stack.peer(roomId, 'pub').metadata, { clientData: 'Ada' })
      await captions.subscribe(roomId, 'sub', { transcripts: true })
      await captions.subscribe(roomId, 'other')
      const said = await pub.say([HEAR], 1)
      await captions.recognized(roomId)
      await pub.say([HELLO], 0.1)
      await pub.leave()
      const spoken = () => captions.sentences.filter((each) => each.roomId === roomId).map(({ message }) => message)
      const texts = () => spoken().map(({ text }) => text)
      await until('the last words are reported', () => texts().length >= 2, 30_000)
      expect(wordErrorRate(said[0]!.text, texts()[0]!)).toBeLessThanOrEqual(0.25)
      expect(wordErrorRate(HELLO, texts()[1]!)).toBeLessThanOrEqual(0.4)
      await until('no stream is left', () => captions.service.streams === 0)
      expect(spoken().map(({ clientData }) => clientData)).toEqual(['Ada', 'Ada'])
    },
    LONG_MS,
  )

  it(
    'there is no transcript without a subscription that asks for it',
    async () => {
      const { roomId, pub } = await captions.room()
      await captions.subscribe(roomId)
      await pub.say([HEAR], 1)
      await captions.recognized(roomId)
      expect(captions.sentences.filter((each) => each.roomId === roomId)).toEqual([])
    },
    LONG_MS,
  )

  ;(engine.name === 'vosk' ? it : it.skip)(
    'each word has its time within 300 ms, also from a publisher that sends no level of its audio',
    async () => {
      const { roomId, pub } = await captions.room(['sub'], { levels: false })
      await captions.subscribe(roomId)
      const said = await pub.say(['seven', 'eight', 'nine', 'six'], 0.25)
      const [{ text, timestamp, words = [] }] = (await captions.recognized(roomId)) as [SpeechToTextMessage]
      expect(text).toBe('seven eight nine six')
      const figures = words.map(({ start, end }, at) => [
        timestamp + start * 1_000 - said[at]!.startedAt,
        timestamp + end * 1_000 - said[at]!.endedAt,
      ])
      const areInTime = figures.flat().every((ms) => Math.abs(ms) < 300)
      expect({ figures, areInTime }).toEqual({ figures, areInTime: true })
    },
    LONG_MS,
  )
})
