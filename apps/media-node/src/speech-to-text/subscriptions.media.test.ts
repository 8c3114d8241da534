/** @quiet It measures how soon captions resume. Subscriptions to speech through the life of streams, rooms and models. */
import { expect, it } from '@jest/globals'
import { readdirSync } from 'node:fs'
import { calmMs, until } from '@session-service/local-stack'
import { sleep } from '@session-service/server-kit'
import { SENTENCES, wordErrorRate } from '@session-service/speech/fixtures'
import { isRunning } from '../fixtures/processes.js'
import { MEMORY_RESERVE } from './admission.js'
import { CaptionsSuite, LONG_MS, textsOf } from './fixtures/captions-suite.js'
import { LanguageModels } from './language-models.js'
import { RoomSpeech, SPEECH_SUBSCRIPTIONS_PER_CONNECTION } from './room-speech.js'
import { SpeechMetrics } from './speech-metrics.js'

const HEAR = SENTENCES[1]!
const OPEN = 'open the front door'

const suite = CaptionsSuite.forTests()
const withEngine = suite.engine ? it : it.skip

withEngine(
  'a subscription survives mute and publishing again, and the last words of a stream and of a publisher are recognized',
  async () => {
    const { roomId, pub } = await suite.captions.room()
    await suite.captions.subscribe(roomId)
    await pub.say([HEAR])
    await pub.setMuted(true)
    await pub.say([OPEN], 0.3)
    await pub.setMuted(false)
    await pub.say([OPEN], 0.05)
    await pub.unpublish()
    const before = await suite.captions.recognized(roomId, 2)
    expect(wordErrorRate(`${HEAR} ${OPEN}`, textsOf(before))).toBeLessThanOrEqual(0.25)
    await until('its stream is closed', () => suite.captions.service.streams === 0)
    await pub.publish('again')
    await until('its stream is open', () => suite.captions.service.streams === 1)
    await pub.say([HEAR])
    const all = await suite.captions.recognized(roomId, 3)
    expect(all.map(({ streamId }) => streamId)).toEqual(['str', 'str', 'again'])
    expect(wordErrorRate(HEAR, all[2]!.text)).toBeLessThanOrEqual(0.25)
    await pub.say([OPEN], 0.05)
    await pub.leave()
    const [last] = (await suite.captions.recognized(roomId, 4)).slice(3)
    expect(wordErrorRate(OPEN, last!.text)).toBeLessThanOrEqual(0.25)
    expect(suite.captions.events(roomId, 'speechToTextDisconnected')).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a publisher is recognized in two languages at once, and another language of a subscriber replaces the former',
  async () => {
    const { roomId, pub } = await suite.captions.room(['sub', 'other'])
    await suite.captions.subscribe(roomId, 'sub', { lang: 'en-US' })
    await suite.captions.subscribe(roomId, 'other', { lang: 'en-GB' })
    expect(suite.captions.service.languageModels.map(({ lang, streams }) => [lang, streams])).toEqual([
      ['en-US', 1],
      ['en-GB', 1],
    ])
    await pub.say([HEAR])
    await suite.captions.recognized(roomId, 2)
    const events = suite.captions.events(roomId, 'speechToText')
    expect(new Set(events.map(({ to, message }) => `${message.lang} ${to.join()}`))).toEqual(
      new Set(['en-US sub', 'en-GB other']),
    )
    // A language that is not there leaves the present one.
    await expect(suite.captions.subscribe(roomId, 'sub', { lang: 'fr-FR' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    expect(suite.captions.service.streams).toBe(2)
    await suite.captions.subscribe(roomId, 'sub', { lang: 'en-GB' })
    await suite.captions.subscribe(roomId, 'sub', { lang: 'en-GB' })
    await until('the former ends', () => suite.captions.service.streams === 1)
    await pub.say([HEAR])
    await suite.captions.recognized(roomId, 3)
    expect(suite.captions.events(roomId, 'speechToText').at(-1)).toMatchObject({
      to: ['other', 'sub'],
      message: { lang: 'en-GB' },
    })
  },
  LONG_MS,
)

withEngine(
  'subscriptions end with their subscriber and with their publisher',
  async () => {
    const { roomId, pub } = await suite.captions.room(['sub', 'other'])
    const leave = (connectionId: string): Promise<unknown> =>
      suite.captions.stack.service.leave({ roomId, connectionId })
    await suite.captions.subscribe(roomId, 'sub')
    await suite.captions.subscribe(roomId, 'sub', { publisherId: 'other' })
    await suite.captions.subscribe(roomId, 'pub', { publisherId: 'pub' })
    await leave('sub')
    expect(suite.captions.service.streams).toBe(1)
    await suite.captions.subscribe(roomId, 'other')
    await pub.leave()
    expect(suite.captions.service.rooms).toBe(0)
    await until('the last words are recognized', () => suite.captions.service.streams === 0)
    // A model is unloaded after its last subscription.
    await suite.captions.subscribe(roomId, 'other', { publisherId: 'other', unloadAfterMs: 100 })
    await suite.captions.unsubscribe(roomId, 'other', 'other')
    await until('the model is unloaded', () =>
      suite.captions.service.languageModels.every(({ lang }) => lang !== 'en-US'),
    )
    await expect(suite.captions.unsubscribe(roomId, 'other')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(suite.captions.subscribe(roomId, 'other')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await expect(suite.captions.subscribe(roomId, 'gone', { publisherId: 'other' })).rejects.toMatchObject({
      code: 'NOT_FOUND',
    })
    await expect(suite.captions.subscribe('nowhere')).rejects.toMatchObject({ code: 'NOT_FOUND' })
  },
  LONG_MS,
)

withEngine(
  'a participant that enters again ends its own subscriptions, and those of others to its speech go on until it leaves',
  async () => {
    const { roomId, pub } = await suite.captions.room()
    await suite.captions.subscribe(roomId)
    await suite.captions.subscribe(roomId, 'pub', { publisherId: 'sub' })
    await pub.say([HEAR])
    await suite.captions.recognized(roomId)
    const again = await suite.captions.talker(roomId, 'pub')
    await expect(suite.captions.unsubscribe(roomId, 'pub', 'sub')).rejects.toMatchObject({ code: 'NOT_FOUND' })
    await again.publish('again')
    await until('its stream is open', () => suite.captions.service.streams === 1)
    await again.say([OPEN])
    const [, second] = await suite.captions.recognized(roomId, 2)
    expect(second).toMatchObject({ connectionId: 'pub', streamId: 'again' })
    expect(wordErrorRate(OPEN, second!.text)).toBeLessThanOrEqual(0.25)
    expect(suite.captions.events(roomId, 'speechToText').at(-1)?.to).toEqual(['sub'])
    // It is removed to enter again, does not, and leaves.
    await suite.captions.stack.service.leave({ roomId, connectionId: 'pub', returns: true })
    expect(suite.captions.service.rooms).toBe(1)
    await again.leave()
    expect(suite.captions.service.rooms).toBe(0)
  },
  LONG_MS,
)

withEngine(
  'a connection has a limited number of subscriptions',
  async () => {
    const publishers = Array.from({ length: SPEECH_SUBSCRIPTIONS_PER_CONNECTION + 1 }, (_, at) => `silent${at}`)
    const { roomId } = await suite.captions.room(['sub', ...publishers])
    const [last = '', ...others] = publishers
    for (const publisherId of others) await suite.captions.subscribe(roomId, 'sub', { publisherId })
    await expect(suite.captions.subscribe(roomId, 'sub', { publisherId: last })).rejects.toMatchObject({
      code: 'LIMIT_REACHED',
    })
    await suite.captions.subscribe(roomId, 'sub', { publisherId: others[0]! })
    await suite.captions.unsubscribe(roomId, 'sub', others[0])
    await suite.captions.subscribe(roomId, 'sub', { publisherId: last })
  },
  LONG_MS,
)

withEngine(
  'a further subscriber of recognized speech needs no memory, and the first one of other speech does',
  async () => {
    const { roomId } = await suite.captions.room(['sub', 'other'])
    let available = 8_192 * 2 ** 20
    const metrics = new SpeechMetrics()
    const models = new LanguageModels({
      ...{ folder: suite.models.path, voskLibrary: suite.voskLibrary, slots: 0, metrics, onFailed: () => undefined },
      availableMemory: () => available,
    })
    const room = suite.captions.stack.service.rooms.get(roomId)
    const speech = new RoomSpeech({ room, models, metrics, onSentence: () => undefined, onEmpty: () => undefined })
    const settings = { engine: suite.engine!, strategy: 'on_demand', unloadAfterMs: 60_000 } as const
    const subscribe = (connectionId: string, publisherId: string): Promise<void> =>
      speech.subscribe({ roomId, connectionId, publisherId, lang: 'en-US', settings })
    try {
      await models.load('en-US', settings.engine)
      await subscribe('sub', 'pub')
      available = MEMORY_RESERVE
      await subscribe('other', 'pub')
      expect(models.states).toMatchObject([{ lang: 'en-US', streams: 1 }])
      await expect(subscribe('sub', 'other')).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    } finally {
      speech.closed()
      await models.close()
    }
  },
  LONG_MS,
)

/** Also models that are still being loaded. */
async function unloadAll(): Promise<void> {
  for (const { lang } of suite.captions.service.languageModels) {
    await until('it is loaded', () => suite.captions.service.languageModels.every(({ status }) => status === 'loaded'))
    await suite.captions.service.unloadLanguageModel({ lang })
  }
}

withEngine.each(['SIGKILL', 'SIGSTOP'] as const)(
  'after %s of a model each subscriber learns of it once, and captions resume within 5 s',
  async (signal) => {
    const { roomId, pub } = await suite.captions.room(['sub', 'other'])
    for (const connectionId of ['sub', 'other']) await suite.captions.subscribe(roomId, connectionId)
    await pub.say([HEAR], 0.3)
    await suite.captions.recognized(roomId)
    const failedAt = calmMs()
    for (const pid of suite.slots) process.kill(pid, signal)
    const disconnected = await until('it is reported', () => {
      const events = suite.captions.events(roomId, 'speechToTextDisconnected')
      return events.length > 0 ? events : undefined
    })
    for (const connectionId of ['sub', 'other']) await suite.captions.subscribe(roomId, connectionId)
    expect(calmMs() - failedAt).toBeLessThan(5_000)
    expect(disconnected).toMatchObject([{ to: ['sub', 'other'], connectionId: 'pub', lang: 'en-US', epoch: 1 }])
    expect(disconnected[0]!.message).toMatch(
      signal === 'SIGKILL' ? /ended by SIGKILL/ : /sent no heartbeat for 2000 ms/,
    )
    await pub.say([OPEN])
    const recognized = await suite.captions.recognized(roomId, 2)
    expect(wordErrorRate(`${HEAR} ${OPEN}`, textsOf(recognized))).toBeLessThanOrEqual(0.25)
    expect(suite.captions.events(roomId, 'speechToTextDisconnected')).toHaveLength(1)
    expect(suite.slots).toHaveLength(1)
  },
  LONG_MS,
)

withEngine(
  'whatever ends during a subscription leaves nothing, and media commands do not wait for it',
  async () => {
    const ends: Record<string, (roomId: string) => unknown> = {
      unsubscribe: (roomId) => suite.captions.unsubscribe(roomId),
      'the subscriber leaves': (roomId) => suite.captions.stack.service.leave({ roomId, connectionId: 'sub' }),
      'the publisher leaves': (roomId) => suite.captions.stack.service.leave({ roomId, connectionId: 'pub' }),
      'the room is closed': (roomId) => suite.captions.stack.service.closeRoom({ roomId, epoch: 1 }),
      'the model is killed': () => suite.slots.forEach((pid) => process.kill(pid, 'SIGKILL')),
    }
    const outcomes: Record<string, string> = {}
    for (const [name, end] of Object.entries(ends)) {
      await unloadAll()
      const { roomId } = await suite.captions.room()
      const subscribing = suite.captions.subscribe(roomId).then(
        () => 'OK',
        ({ code }: { code: string }) => code,
      )
      await until('the model is loading', () => suite.captions.service.languageModels.length > 0)
      await end(roomId)
      outcomes[name] = await subscribing
      await suite.captions.stack.service.closeRoom({ roomId, epoch: 1 })
      await until('nothing is left', () => suite.captions.service.rooms === 0 && suite.captions.service.streams === 0)
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
  'a model that is killed while streams open is reported once to each accepted subscription',
  async () => {
    for (const delayMs of [0, 10, 100]) {
      const { roomId } = await suite.captions.room()
      await suite.captions.service.loadLanguageModel({ lang: 'en-US', engine: suite.engine! }).catch(() => undefined)
      await until('it is loaded', () =>
        suite.captions.service.languageModels.every(({ status }) => status === 'loaded'),
      )
      const subscribing = suite.captions.subscribe(roomId).then(
        () => 'OK',
        ({ code }: { code: string }) => code,
      )
      await sleep(delayMs)
      const pids = suite.slots
      for (const pid of pids) process.kill(pid, 'SIGKILL')
      const outcome = await subscribing
      await until('they have ended', () => !pids.some(isRunning))
      await until('it is loaded again', () => suite.captions.service.languageModels[0]?.status === 'loaded')
      const reports = suite.captions.events(roomId, 'speechToTextDisconnected').length
      // A subscription that was accepted after the failure uses the new process.
      const expected = outcome === 'OK' ? 1 - suite.captions.service.streams : 0
      expect({ delayMs, outcome, reports }).toEqual({
        delayMs,
        outcome: expect.stringMatching(/OK|NOT_READY/),
        reports: expected,
      })
      await suite.captions.stack.service.closeRoom({ roomId, epoch: 1 })
    }
  },
  LONG_MS,
)

withEngine(
  'subscribing and unsubscribing many times at random moments leaves no tap, stream or descriptor',
  async () => {
    const { roomId } = await suite.captions.room(['sub', 'other'])
    await suite.captions.subscribe(roomId, 'other')
    // On a slow machine the subscription is answered before its stream is open.
    await until('it has a tap', async () => (await suite.captions.stack.inside(roomId)).consumers === 1)
    const descriptors = (): number => readdirSync('/proc/self/fd').length
    const before = { router: await suite.captions.stack.inside(roomId), descriptors: descriptors() }
    for (let at = 0; at < 40; at++) {
      const subscribing = suite.captions
        .subscribe(roomId, 'sub', { lang: at % 2 ? 'en-US' : 'en-GB' })
        .catch(() => undefined)
      if (at % 3 > 0) await sleep(at % 5)
      if (at % 4 === 0) await subscribing
      await suite.captions.unsubscribe(roomId).catch(() => undefined)
      await subscribing
    }
    await suite.captions.unsubscribe(roomId).catch(() => undefined)
    await until('one stream is left', () => suite.captions.service.streams === 1)
    await until('no tap is left', async () => {
      expect(await suite.captions.stack.inside(roomId)).toEqual(before.router)
      return true
    })
    expect(descriptors()).toBeLessThanOrEqual(before.descriptors + 4)
  },
  LONG_MS,
)
