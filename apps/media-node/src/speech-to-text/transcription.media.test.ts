/** The transcription of whole rooms, with real mediasoup and a real engine. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { budgetMs, until } from '@session-service/local-stack'
import { SENTENCES, TEST_ENGINES, testEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { childrenOf, isRunning } from '../fixtures/processes.js'
import { Captions } from './fixtures/captions.js'
import { ModelsFolder } from './fixtures/models-folder.js'

const LONG_MS = 120_000
const HEAR = SENTENCES[1]!
const OPEN = 'open the front door'

const engine = testEngine('vosk') ?? TEST_ENGINES[0]
const withEngine = engine ? it : it.skip
const models = new ModelsFolder()
let captions: Captions

beforeAll(async () => {
  if (!engine) return
  models.link('en-US', engine)
  models.link('en-GB', engine)
  captions = await Captions.start(engine, { models })
}, LONG_MS)
afterEach(async () => {
  if (!captions) return
  await captions.stack.service.rooms.closeAll()
  await until('nothing is left of the rooms', () => captions.service.rooms === 0 && captions.service.streams === 0)
})
afterAll(async () => {
  await captions?.stop()
  models.remove()
})

const textsOf = (messages: readonly { text: string }[]): string => messages.map(({ text }) => text).join(' ')
/** The processes of the models. */
const slotsOf = (): number[] => {
  const workers = [...captions.stack.pool.workers].map(({ worker }) => worker.pid)
  return childrenOf(process.pid).filter((pid) => isRunning(pid) && !workers.includes(pid))
}

withEngine(
  'a room is transcribed without subscriptions, each stream by one recognizer that subscriptions share',
  async () => {
    const { roomId, pub } = await captions.room(['sub'])
    await Promise.all([captions.transcribe(roomId), captions.transcribe(roomId)])
    await captions.subscribe(roomId, 'sub', { transcripts: true })
    const late = await captions.talker(roomId, 'late')
    await late.publish('second')
    await until('both streams are recognized', () => captions.service.streams === 2)
    expect(captions.service.languageModels).toHaveLength(1)
    await Promise.all([pub.say([HEAR]), late.say([OPEN])])
    const both = await captions.transcribed(roomId, 2)
    const textOf = (id: string): string => textsOf(both.filter(({ connectionId }) => connectionId === id))
    expect(wordErrorRate(HEAR, textOf('pub'))).toBeLessThanOrEqual(0.25)
    expect(wordErrorRate(OPEN, textOf('late'))).toBeLessThanOrEqual(0.25)
    const events = captions.events(roomId, 'speechToText')
    expect(new Set(events.map(({ to, message }) => `${message.connectionId} ${to.join()}`))).toEqual(
      new Set(['pub sub']),
    )
    // The recognizer stays for the transcription, and the last words of a participant who leaves are transcribed.
    await captions.unsubscribe(roomId)
    expect(captions.service.streams).toBe(2)
    await pub.say([OPEN], 0.05)
    await pub.leave()
    expect((await captions.transcribed(roomId, 3)).at(-1)).toMatchObject({ connectionId: 'pub', streamId: 'str' })
    await until('its stream is closed', () => captions.service.streams === 1)
    // So are those before the end of the room.
    await late.say([HEAR], 0.05)
    await captions.stack.service.closeRoom({ roomId, epoch: 1 })
    const all = await captions.transcribed(roomId, 4)
    expect(wordErrorRate(HEAR, all[3]!.text)).toBeLessThanOrEqual(0.25)
    expect(captions.service.transcriptions).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a transcription ends with its command, is replaced by another language, and stays when that is refused',
  async () => {
    const { roomId } = await captions.room()
    const held = { roomId, epoch: 1 }
    await captions.service.stopTranscription(held)
    await captions.transcribe(roomId)
    for (const [options, code] of [
      [{ lang: 'xx-XX' }, 'NOT_FOUND'],
      [{ lang: 'en-GB', strategy: 'manual' }, 'NOT_READY'],
    ] as const)
      await expect(captions.transcribe(roomId, options)).rejects.toMatchObject({ code })
    expect(captions.service.transcriptions).toEqual([{ ...held, lang: 'en-US' }])
    await captions.transcribe(roomId, { lang: 'en-GB' })
    expect(captions.service.transcriptions).toEqual([{ ...held, lang: 'en-GB' }])
    await until('the former ends', () => captions.service.streams === 1)
    await expect(captions.service.unloadLanguageModel({ lang: 'en-GB' })).rejects.toMatchObject({ code: 'IN_USE' })
    await expect(captions.service.stopTranscription({ roomId, epoch: 2 })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await captions.service.stopTranscription(held)
    await until('no stream is recognized', () => captions.service.streams === 0)
    expect(captions.service.rooms).toBe(0)
    // Ended while it starts.
    const starting = captions.transcribe(roomId).catch(({ code }: { code: string }) => code)
    await captions.service.stopTranscription(held)
    expect(await starting).toBe('CONFLICT')
    expect([captions.service.rooms, captions.service.streams]).toEqual([0, 0])
  },
  LONG_MS,
)

withEngine(
  'A13: a transcription continues by itself within 5 s after SIGKILL of its model, without an event to clients',
  async () => {
    const { roomId, pub } = await captions.room()
    await captions.transcribe(roomId)
    await until('it is recognized', () => captions.service.streams === 1)
    const killedAt = performance.now()
    const killed = slotsOf()
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await until('the processes have ended', () => !killed.some(isRunning))
    await until('it is recognized again', () => captions.service.streams === 1 && slotsOf().length === 1)
    expect(performance.now() - killedAt).toBeLessThan(budgetMs(5_000))
    await pub.say([HEAR])
    expect(wordErrorRate(HEAR, textsOf(await captions.transcribed(roomId, 1)))).toBeLessThanOrEqual(0.25)
    expect(captions.stack.events.filter((event) => event.roomId === roomId)).toEqual([])
  },
  LONG_MS,
)
