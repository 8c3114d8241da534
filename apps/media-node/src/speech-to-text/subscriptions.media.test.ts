/** Subscriptions to speech through the life of streams, participants, rooms and models. */
import { afterAll, afterEach, beforeAll, expect, it } from '@jest/globals'
import { readdirSync } from 'node:fs'
import { budgetMs, until } from '@session-service/local-stack'
import { sleep } from '@session-service/server-kit'
import { SENTENCES, TEST_ENGINES, testEngine, wordErrorRate } from '@session-service/speech/fixtures'
import { childrenOf, isRunning } from '../fixtures/processes.js'
import { Captions } from './fixtures/captions.js'
import { ModelsFolder } from './fixtures/models-folder.js'
import { SPEECH_SUBSCRIPTIONS_PER_CONNECTION } from './room-speech.js'

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
  'a subscription survives mute and publishing again, and the last words of a stream and of a publisher are recognized',
  async () => {
    const { roomId, pub } = await captions.room()
    await captions.subscribe(roomId)
    await pub.say([HEAR])
    await pub.setMuted(true)
    await pub.say([OPEN], 0.3)
    await pub.setMuted(false)
    await pub.say([OPEN], 0.05)
    await pub.unpublish()
    const before = await captions.recognized(roomId, 2)
    expect(wordErrorRate(`${HEAR} ${OPEN}`, textsOf(before))).toBeLessThanOrEqual(0.25)
    await until('its stream is closed', () => captions.service.streams === 0)
    await pub.publish('again')
    await until('its stream is open', () => captions.service.streams === 1)
    await pub.say([HEAR])
    const all = await captions.recognized(roomId, 3)
    expect(all.map(({ streamId }) => streamId)).toEqual(['str', 'str', 'again'])
    expect(wordErrorRate(HEAR, all[2]!.text)).toBeLessThanOrEqual(0.25)
    await pub.say([OPEN], 0.05)
    await pub.leave()
    const [last] = (await captions.recognized(roomId, 4)).slice(3)
    expect(wordErrorRate(OPEN, last!.text)).toBeLessThanOrEqual(0.25)
    expect(captions.events(roomId, 'speechToTextDisconnected')).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a publisher is recognized in two languages at once, and another language of a subscriber replaces the former',
  async () => {
    const { roomId, pub } = await captions.room(['sub', 'other'])
    await captions.subscribe(roomId, 'sub', { lang: 'en-US' })
    await captions.subscribe(roomId, 'other', { lang: 'en-GB' })
    expect(captions.service.languageModels.map(({ lang, streams }) => [lang, streams])).toEqual([
      ['en-US', 1],
      ['en-GB', 1],
    ])
    await pub.say([HEAR])
    await captions.recognized(roomId, 2)
    const events = captions.events(roomId, 'speechToText')
    expect(new Set(events.map(({ to, message }) => `${message.lang} ${to.join()}`))).toEqual(
      new Set(['en-US sub', 'en-GB other']),
    )
    // A language that is not there leaves the present one.
    await expect(captions.subscribe(roomId, 'sub', { lang: 'fr-FR' })).rejects.toMatchObject({ code: 'NOT_FOUND' })
    expect(captions.service.streams).toBe(2)
    await captions.subscribe(roomId, 'sub', { lang: 'en-GB' })
    await captions.subscribe(roomId, 'sub', { lang: 'en-GB' })
    await until('the former ends', () => captions.service.streams === 1)
    await pub.say([HEAR])
    await captions.recognized(roomId, 3)
    expect(captions.events(roomId, 'speechToText').at(-1)).toMatchObject({
      to: ['other', 'sub'],
      message: { lang: 'en-GB' },
    })
  },
  LONG_MS,
)

withEngine(
  'subscriptions end with their subscriber and with their publisher',
  async () => {
    const { roomId, pub } = await captions.room(['sub', 'other'])
    const leave = (connectionId: string): Promise<unknown> => captions.stack.service.leave({ roomId, connectionId })
    await captions.subscribe(roomId, 'sub')
    await captions.subscribe(roomId, 'sub', { publisherId: 'other' })
    await captions.subscribe(roomId, 'pub', { publisherId: 'pub' })
    await leave('sub')
    expect(captions.service.streams).toBe(1)
    await captions.subscribe(roomId, 'other')
    await pub.leave()
    expect(captions.service.rooms).toBe(0)
    await until('the last words are recognized', () => captions.service.streams === 0)
    // A model is unloaded after its last subscription.
    await captions.subscribe(roomId, 'other', { publisherId: 'other', unloadAfterMs: 100 })
    await captions.unsubscribe(roomId, 'other', 'other')
    await until('the model is unloaded', () => captions.service.languageModels.every(({ lang }) => lang !== 'en-US'))
    await expect(captions.unsubscribe(roomId, 'other')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(captions.subscribe(roomId, 'other')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(captions.subscribe(roomId, 'gone', { publisherId: 'other' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(captions.subscribe('nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  },
  LONG_MS,
)

withEngine(
  'a connection has a limited number of subscriptions',
  async () => {
    const publishers = Array.from({ length: SPEECH_SUBSCRIPTIONS_PER_CONNECTION + 1 }, (_, at) => `silent${at}`)
    const { roomId } = await captions.room(['sub', ...publishers])
    const [last = '', ...others] = publishers
    for (const publisherId of others) await captions.subscribe(roomId, 'sub', { publisherId })
    await expect(captions.subscribe(roomId, 'sub', { publisherId: last })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
    })
    await captions.subscribe(roomId, 'sub', { publisherId: others[0]! })
    await captions.unsubscribe(roomId, 'sub', others[0])
    await captions.subscribe(roomId, 'sub', { publisherId: last })
  },
  LONG_MS,
)

/** Also models that are still being loaded. */
async function unloadAll(): Promise<void> {
  for (const { lang } of captions.service.languageModels) {
    await until('it is loaded', () => captions.service.languageModels.every(({ status }) => status === 'loaded'))
    await captions.service.unloadLanguageModel({ lang })
  }
}

withEngine.each(['SIGKILL', 'SIGSTOP'] as const)(
  'A13: after %s of a model each subscriber learns of it once, and captions resume within 5 s',
  async (signal) => {
    const { roomId, pub } = await captions.room(['sub', 'other'])
    for (const connectionId of ['sub', 'other']) await captions.subscribe(roomId, connectionId)
    await pub.say([HEAR], 0.3)
    await captions.recognized(roomId)
    const failedAt = performance.now()
    for (const pid of slotsOf()) process.kill(pid, signal)
    const disconnected = await until('it is reported', () => {
      const events = captions.events(roomId, 'speechToTextDisconnected')
      return events.length > 0 ? events : undefined
    })
    for (const connectionId of ['sub', 'other']) await captions.subscribe(roomId, connectionId)
    expect(performance.now() - failedAt).toBeLessThan(budgetMs(5_000))
    expect(disconnected).toMatchObject([{ to: ['sub', 'other'], connectionId: 'pub', lang: 'en-US', epoch: 1 }])
    expect(disconnected[0]!.message).toMatch(
      signal === 'SIGKILL' ? /ended by SIGKILL/ : /sent no heartbeat for 3000 ms/,
    )
    await pub.say([OPEN])
    const recognized = await captions.recognized(roomId, 2)
    expect(wordErrorRate(`${HEAR} ${OPEN}`, textsOf(recognized))).toBeLessThanOrEqual(0.25)
    expect(captions.events(roomId, 'speechToTextDisconnected')).toHaveLength(1)
    expect(slotsOf()).toHaveLength(1)
  },
  LONG_MS,
)

withEngine(
  'whatever ends during a subscription leaves nothing, and media commands do not wait for it',
  async () => {
    const ends: Record<string, (roomId: string) => unknown> = {
      unsubscribe: (roomId) => captions.unsubscribe(roomId),
      'the subscriber leaves': (roomId) => captions.stack.service.leave({ roomId, connectionId: 'sub' }),
      'the publisher leaves': (roomId) => captions.stack.service.leave({ roomId, connectionId: 'pub' }),
      'the room is closed': (roomId) => captions.stack.service.closeRoom({ roomId, epoch: 1 }),
      'the model is killed': () => slotsOf().forEach((pid) => process.kill(pid, 'SIGKILL')),
    }
    const outcomes: Record<string, string> = {}
    for (const [name, end] of Object.entries(ends)) {
      await unloadAll()
      const { roomId } = await captions.room()
      const subscribing = captions.subscribe(roomId).then(
        () => 'OK',
        ({ code }: { code: string }) => code,
      )
      await until('the model is loading', () => captions.service.languageModels.length > 0)
      await end(roomId)
      outcomes[name] = await subscribing
      await captions.stack.service.closeRoom({ roomId, epoch: 1 })
      await until('nothing is left', () => captions.service.rooms === 0 && captions.service.streams === 0)
    }
    expect(outcomes).toEqual({
      unsubscribe: 'NOT_FOUND',
      'the subscriber leaves': 'NOT_FOUND',
      'the publisher leaves': 'NOT_FOUND',
      'the room is closed': 'NOT_FOUND',
      'the model is killed': 'LAUNCH_FAILED',
    })
  },
  LONG_MS,
)

withEngine(
  'A13: a model that is killed while streams open is reported once to each accepted subscription',
  async () => {
    for (const delayMs of [0, 10, 100]) {
      const { roomId } = await captions.room()
      await captions.service.loadLanguageModel({ lang: 'en-US', engine: engine!.engine.name }).catch(() => undefined)
      await until('it is loaded', () => captions.service.languageModels.every(({ status }) => status === 'loaded'))
      const subscribing = captions.subscribe(roomId).then(
        () => 'OK',
        ({ code }: { code: string }) => code,
      )
      await sleep(delayMs)
      const pids = slotsOf()
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      const outcome = await subscribing
      await until('they have ended', () => !pids.some(isRunning))
      await until('it is loaded again', () => captions.service.languageModels[0]?.status === 'loaded')
      const reports = captions.events(roomId, 'speechToTextDisconnected').length
      // A subscription that was accepted after the failure uses the new process.
      const expected = outcome === 'OK' ? 1 - captions.service.streams : 0
      expect({ delayMs, outcome, reports }).toEqual({
        delayMs,
        outcome: expect.stringMatching(/OK|NOT_READY/),
        reports: expected,
      })
      await captions.stack.service.closeRoom({ roomId, epoch: 1 })
    }
  },
  LONG_MS,
)

withEngine(
  'subscribing and unsubscribing many times at random moments leaves no tap, stream or descriptor',
  async () => {
    const { roomId } = await captions.room(['sub', 'other'])
    await captions.subscribe(roomId, 'other')
    const router = async (): Promise<string> => JSON.stringify(await captions.stack.inside(roomId))
    const descriptors = (): number => readdirSync('/proc/self/fd').length
    const before = { router: await router(), descriptors: descriptors() }
    for (let at = 0; at < 40; at++) {
      const subscribing = captions.subscribe(roomId, 'sub', { lang: at % 2 ? 'en-US' : 'en-GB' }).catch(() => undefined)
      if (at % 3 > 0) await sleep(at % 5)
      if (at % 4 === 0) await subscribing
      await captions.unsubscribe(roomId).catch(() => undefined)
      await subscribing
    }
    await captions.unsubscribe(roomId).catch(() => undefined)
    await until('one stream is left', () => captions.service.streams === 1)
    await until('no tap is left', async () => (await router()) === before.router)
    expect(descriptors()).toBeLessThanOrEqual(before.descriptors + 4)
  },
  LONG_MS,
)
