/** @quiet A busy engine misses words. The transcription of whole rooms, with real mediasoup and a real engine. */
import { expect, it } from '@jest/globals'
import { calmMs, until } from '@session-service/local-stack'
import { SENTENCES, wordErrorRate } from '@session-service/speech/fixtures'
import { isRunning } from '../fixtures/processes.js'
import { CaptionsSuite, LONG_MS, textsOf } from './fixtures/captions-suite.js'

const HEAR = SENTENCES[1]!
const OPEN = 'open the front door'

const suite = CaptionsSuite.forTests()
const withEngine = suite.engine ? it : it.skip

withEngine(
  'a room is transcribed without subscriptions, each stream by one recognizer that subscriptions share',
  async () => {
    const { roomId, pub } = await suite.captions.room(['sub'])
    await Promise.all([suite.captions.transcribe(roomId), suite.captions.transcribe(roomId)])
    await suite.captions.subscribe(roomId, 'sub', { transcripts: true })
    const late = await suite.captions.talker(roomId, 'late')
    await late.publish('second')
    await until('both streams are recognized', () => suite.captions.service.streams === 2)
    expect(suite.captions.service.languageModels).toHaveLength(1)
    await Promise.all([pub.say([HEAR]), late.say([OPEN])])
    const both = await suite.captions.transcribed(roomId, 2)
    const textOf = (id: string): string => textsOf(both.filter(({ connectionId }) => connectionId === id))
    expect(wordErrorRate(HEAR, textOf('pub'))).toBeLessThanOrEqual(0.25)
    expect(wordErrorRate(OPEN, textOf('late'))).toBeLessThanOrEqual(0.25)
    const events = suite.captions.events(roomId, 'speechToText')
    expect(new Set(events.map(({ to, message }) => `${message.connectionId} ${to.join()}`))).toEqual(
      new Set(['pub sub']),
    )
    // The recognizer stays for the transcription, and the last words of a participant who leaves are transcribed.
    await suite.captions.unsubscribe(roomId)
    expect(suite.captions.service.streams).toBe(2)
    await pub.say([OPEN], 0.05)
    await pub.leave()
    expect((await suite.captions.transcribed(roomId, 3)).at(-1)).toMatchObject({ connectionId: 'pub', streamId: 'str' })
    await until('its stream is closed', () => suite.captions.service.streams === 1)
    // So are those before the end of the room.
    await late.say([HEAR], 0.05)
    await suite.captions.stack.service.closeRoom({ roomId, epoch: 1 })
    const all = await suite.captions.transcribed(roomId, 4)
    expect(wordErrorRate(HEAR, all[3]!.text)).toBeLessThanOrEqual(0.25)
    expect(suite.captions.service.transcriptions).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a transcription ends with its command, is replaced by another language, and stays when that is refused',
  async () => {
    const { roomId } = await suite.captions.room()
    const held = { roomId, epoch: 1 }
    await suite.captions.service.stopTranscription(held)
    await suite.captions.transcribe(roomId)
    for (const [options, code] of [
      [{ lang: 'xx-XX' }, 'NOT_FOUND'],
      [{ lang: 'en-GB', strategy: 'manual' }, 'NOT_READY'],
    ] as const)
      await expect(suite.captions.transcribe(roomId, options)).rejects.toMatchObject({ code })
    expect(suite.captions.service.transcriptions).toEqual([{ ...held, lang: 'en-US' }])
    await suite.captions.transcribe(roomId, { lang: 'en-GB' })
    expect(suite.captions.service.transcriptions).toEqual([{ ...held, lang: 'en-GB' }])
    await until('the former ends', () => suite.captions.service.streams === 1)
    await expect(suite.captions.service.unloadLanguageModel({ lang: 'en-GB' })).rejects.toMatchObject({
      code: 'IN_USE',
    })
    await expect(suite.captions.service.stopTranscription({ roomId, epoch: 2 })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await suite.captions.service.stopTranscription(held)
    await until('no stream is recognized', () => suite.captions.service.streams === 0)
    expect(suite.captions.service.rooms).toBe(0)
    // Ended while it starts.
    const starting = suite.captions.transcribe(roomId).catch(({ code }: { code: string }) => code)
    await suite.captions.service.stopTranscription(held)
    expect(await starting).toBe('CONFLICT')
    expect([suite.captions.service.rooms, suite.captions.service.streams]).toEqual([0, 0])
  },
  LONG_MS,
)

withEngine(
  'a transcription continues by itself within 5 s after SIGKILL of its model, without an event to clients',
  async () => {
    const { roomId, pub } = await suite.captions.room()
    await suite.captions.transcribe(roomId)
    await until('it is recognized', () => suite.captions.service.streams === 1)
    const killedAt = calmMs()
    const killed = suite.slots
    for (const pid of killed) process.kill(pid, 'SIGKILL')
    await until('the processes have ended', () => !killed.some(isRunning))
    await until('it is recognized again', () => suite.captions.service.streams === 1 && suite.slots.length === 1)
    expect(calmMs() - killedAt).toBeLessThan(5_000)
    await pub.say([HEAR])
    expect(wordErrorRate(HEAR, textsOf(await suite.captions.transcribed(roomId, 1)))).toBeLessThanOrEqual(0.25)
    expect(suite.captions.stack.events.filter((event) => event.roomId === roomId)).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a repeated subscription decides whether its sentences are transcribed, also while the first one is pending',
  async () => {
    const { roomId, pub } = await suite.captions.room(['sub', 'other'])
    await suite.captions.subscribe(roomId, 'sub', { transcripts: false })
    await suite.captions.subscribe(roomId, 'sub', { transcripts: true })
    const pending = [false, true].map((transcripts) =>
      suite.captions.subscribe(roomId, 'other', { lang: 'en-GB', transcripts }),
    )
    await Promise.all(pending)
    await pub.say([HEAR])
    const languages = (await suite.captions.transcribed(roomId, 2)).map(({ lang }) => lang)
    expect(languages.toSorted()).toEqual(['en-GB', 'en-US'])
  },
  LONG_MS,
)
