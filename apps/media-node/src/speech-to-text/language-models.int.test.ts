/** Loading and unloading of language models by the real engines. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals'
import { readdirSync } from 'node:fs'
import type { SpeechSettings } from '@session-service/contract'
import { until } from '@session-service/local-stack'
import { TEST_ENGINES, type TestEngine, testEngine } from '@session-service/speech/fixtures'
import { childrenOf } from '../fixtures/processes.js'
import { MEMORY_RESERVE } from './admission.js'
import { ModelsFolder } from './fixtures/models-folder.js'
import { LanguageModels, type LanguageModelsOptions } from './language-models.js'
import type { ModelSlot } from './model-slot.js'
import { SpeechMetrics } from './speech-metrics.js'

const LONG_MS = 120_000
const ANSWER_MS = 60_000
const MIB = 2 ** 20

const [tested] = TEST_ENGINES
const withEngine = tested ? it : it.skip
const folder = new ModelsFolder()
const opened: LanguageModels[] = []
const failed: { slot: ModelSlot; reason: string }[] = []

beforeAll(() => {
  if (!tested) return
  folder.link('en-US', tested)
  folder.link('en-GB', tested)
})
afterEach(async () => {
  for (const models of opened.splice(0)) await models.close()
  failed.length = 0
  expect(childrenOf(process.pid)).toEqual([])
})
afterAll(() => folder.remove())

const libraryOf = ({ engine }: TestEngine): string => ('library' in engine ? engine.library : '/nowhere/libvosk.so')

function open(changes: Partial<LanguageModelsOptions> = {}): LanguageModels {
  const models = new LanguageModels({
    folder: folder.path,
    voskLibrary: libraryOf(testEngine('vosk') ?? tested!),
    slots: 0,
    availableMemory: () => 8_192 * MIB,
    metrics: new SpeechMetrics(),
    onFailed: (slot, reason) => void failed.push({ slot, reason }),
    ...changes,
  })
  opened.push(models)
  return models
}

const nameOf = (): SpeechSettings['engine'] => tested!.engine.name
const settings = (changes: Partial<SpeechSettings> = {}): SpeechSettings => ({
  engine: nameOf(),
  strategy: 'on_demand',
  unloadAfterMs: 0,
  ...changes,
})
const codes = async (calls: readonly Promise<unknown>[]): Promise<string[]> =>
  (await Promise.allSettled(calls)).map((call) =>
    call.status === 'fulfilled' ? 'OK' : (call.reason as { code: string }).code,
  )
const statesOf = (models: LanguageModels): string[] => models.states.map(({ lang, status }) => `${lang} ${status}`)

withEngine(
  'loading and unloading answer with the codes of the contract',
  async () => {
    const models = open()
    expect(await codes([models.load('fr-FR', nameOf()), models.load('../en-US', nameOf())])).toEqual([
      'NOT_FOUND',
      'NOT_FOUND',
    ])
    expect(await codes([models.unload('fr-FR'), models.unload('en-US')])).toEqual(['NOT_FOUND', 'CONFLICT'])
    const other = nameOf() === 'vosk' ? 'sherpa' : 'vosk'
    expect(await codes([models.load('en-US', other)])).toEqual(['NOT_FOUND'])
    const loads = Array.from({ length: 20 }, () => models.load('en-US', nameOf()))
    await until('it is loading', () => statesOf(models).includes('en-US loading'))
    expect(await codes([models.unload('en-US')])).toEqual(['CONFLICT'])
    expect((await codes(loads)).toSorted()).toEqual([...Array.from({ length: 19 }, () => 'CONFLICT'), 'OK'])
    expect(childrenOf(process.pid)).toHaveLength(1)
    expect(models.states).toEqual([{ lang: 'en-US', status: 'loaded', streams: 0, memoryBytes: expect.any(Number) }])
    expect(models.states[0]!.memoryBytes).toBeGreaterThan(50 * MIB)
    const use = await models.acquire('en-US', settings({ strategy: 'manual' }), ANSWER_MS)
    expect(await codes([models.load('en-US', nameOf()), models.unload('en-US')])).toEqual(['CONFLICT', 'IN_USE'])
    use.release()
    use.release()
    expect(await codes([models.unload('en-US'), models.unload('en-US')])).toEqual(['OK', 'CONFLICT'])
    expect(statesOf(models)).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a model without a free slot or without memory is refused with the reason, and none is evicted',
  async () => {
    const models = open({ slots: 1 })
    await models.load('en-US', nameOf())
    await expect(models.load('en-GB', nameOf())).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      message: 'cannot load the language model en-GB: all 1 slots of the media node are in use',
    })
    await expect(models.acquire('en-GB', settings(), ANSWER_MS)).rejects.toMatchObject({ code: 'NO_CAPACITY' })
    expect(statesOf(models)).toEqual(['en-US loaded'])
    expect(models.slots).toEqual({ used: 1, total: 1 })
    let available = 8_192 * MIB
    const full = open({ availableMemory: () => available })
    const { slot } = await full.acquire('en-US', settings(), ANSWER_MS)
    available = MEMORY_RESERVE + 10 * MIB
    const noMemory = {
      code: 'NO_CAPACITY',
      message: expect.stringMatching(/^cannot recognize another stream in en-US/),
    }
    await expect(full.acquire('en-US', settings(), ANSWER_MS)).rejects.toMatchObject(noMemory)
    const listener = { result: () => undefined, closed: () => undefined }
    await expect(slot.open({ payloadType: 100 }, listener)).rejects.toMatchObject(noMemory)
    expect(slot.streams).toBe(0)
    const poor = open({ availableMemory: () => MEMORY_RESERVE + 100 * MIB })
    await expect(poor.load('en-US', nameOf())).rejects.toMatchObject({
      code: 'NO_CAPACITY',
      message: expect.stringMatching(/needs about \d{3} MiB of memory and the media node has 100 MiB left/),
    })
    expect(statesOf(poor)).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'on_demand loads a model with its first use and unloads it after the delay; manual does not load it',
  async () => {
    const models = open()
    await expect(models.acquire('en-US', settings({ strategy: 'manual' }), ANSWER_MS)).rejects.toMatchObject({
      code: 'NOT_READY',
      message: expect.stringMatching(/^the language model en-US is not loaded/),
    })
    await expect(models.acquire('fr-FR', settings(), ANSWER_MS)).rejects.toMatchObject({ code: 'NOT_FOUND' })
    const [first, second] = await Promise.all([
      models.acquire('en-US', settings({ unloadAfterMs: 300 }), ANSWER_MS),
      models.acquire('en-US', settings({ unloadAfterMs: 300 }), ANSWER_MS),
    ])
    expect(first.slot).toBe(second.slot)
    first.release()
    second.release()
    const third = await models.acquire('en-US', settings({ unloadAfterMs: 300 }), ANSWER_MS)
    expect(third.slot).toBe(first.slot)
    const releasedAt = performance.now()
    third.release()
    await until('it is unloaded', () => models.states.length === 0)
    expect(performance.now() - releasedAt).toBeGreaterThanOrEqual(290)
    await until('its process has ended', () => childrenOf(process.pid).length === 0)
    expect(failed).toEqual([])
  },
  LONG_MS,
)

withEngine(
  'a use that does not wait for the model is refused as not ready, and finds it loaded later',
  async () => {
    const models = open()
    await expect(models.acquire('en-US', settings(), 1)).rejects.toMatchObject({
      code: 'NOT_READY',
      message: 'the language model en-US is still being loaded, retry',
    })
    expect(statesOf(models)).toEqual(['en-US loading'])
    await until('it is loaded', () => statesOf(models).includes('en-US loaded'))
    const use = await models.acquire('en-US', settings(), 1_000)
    use.release()
    await until('it is unloaded', () => models.states.length === 0)
  },
  LONG_MS,
)

withEngine(
  'a killed model that REST loaded is loaded again, and a use meanwhile waits for it',
  async () => {
    const models = open()
    await models.load('en-US', nameOf())
    const use = await models.acquire('en-US', settings(), ANSWER_MS)
    process.kill(use.slot.pid!, 'SIGKILL')
    await until('the failure is reported', () => failed.length > 0)
    expect(failed).toEqual([{ slot: use.slot, reason: expect.stringMatching(/was ended by SIGKILL/) }])
    expect(statesOf(models)).toEqual(['en-US loading'])
    const again = await models.acquire('en-US', settings(), ANSWER_MS)
    expect(again.slot).not.toBe(use.slot)
    // The use of the former process does not count.
    use.release()
    expect(await codes([models.unload('en-US')])).toEqual(['IN_USE'])
    again.release()
    expect(await codes([models.unload('en-US')])).toEqual(['OK'])
  },
  LONG_MS,
)

withEngine(
  'a killed model that on_demand loaded is loaded again by its next use only',
  async () => {
    const models = open()
    const { slot } = await models.acquire('en-US', settings(), ANSWER_MS)
    process.kill(slot.pid!, 'SIGKILL')
    await until('the failure is reported', () => failed.length > 0)
    expect(statesOf(models)).toEqual([])
    const again = await models.acquire('en-US', settings(), ANSWER_MS)
    expect(again.slot.running).toBe(true)
  },
  LONG_MS,
)

withEngine(
  'models that are being loaded end with the node',
  async () => {
    const models = open()
    const loading = codes([models.load('en-US', nameOf())])
    await until('the process is there', () => childrenOf(process.pid).length > 0)
    await models.close()
    expect(childrenOf(process.pid)).toEqual([])
    expect(await loading).toEqual(['LAUNCH_FAILED'])
    expect(await codes([models.load('en-US', nameOf())])).toEqual(['UNAVAILABLE'])
  },
  LONG_MS,
)

describe.each([
  ['vosk', 'graph/HCLr.fst', 0.5],
  ['moonshine', 'decoder_model_merged.onnx', 0.97],
])('a truncated model of %s', (name, file, share) => {
  const damaged = testEngine(name)
  ;(damaged ? it : it.skip)(
    'is refused with the reason, and frees its slot',
    async () => {
      folder.damage(`${name}-bad`, damaged!, file, share)
      const models = open({ slots: 1 })
      await expect(models.load(`${name}-bad`, damaged!.engine.name)).rejects.toMatchObject({
        code: 'LAUNCH_FAILED',
        message: expect.stringMatching(/language model (vosk|moonshine)-bad .{20,}/),
      })
      expect([models.slots, statesOf(models)]).toEqual([{ used: 0, total: 1 }, []])
      expect(childrenOf(process.pid)).toEqual([])
    },
    LONG_MS,
  )
})

withEngine(
  'neither memory nor descriptors grow over cycles of loading and unloading',
  async () => {
    const models = open()
    const cycle = async (): Promise<void> => {
      await Promise.all([models.load('en-US', nameOf()), models.load('en-GB', nameOf())])
      await Promise.all([models.unload('en-US'), models.unload('en-GB')])
    }
    const descriptors = (): number => readdirSync('/proc/self/fd').length
    await cycle()
    const before = { rss: process.memoryUsage.rss(), descriptors: descriptors() }
    for (let at = 0; at < 4; at++) await cycle()
    expect(process.memoryUsage.rss() - before.rss).toBeLessThan(40 * MIB)
    expect(descriptors()).toBeLessThanOrEqual(before.descriptors + 2)
  },
  LONG_MS,
)
