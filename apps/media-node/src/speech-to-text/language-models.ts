import { Logger } from '@nestjs/common'
import {
  type LanguageModelState,
  ServiceError,
  type Slots,
  type SpeechEngineName,
  type SpeechSettings,
} from '@session-service/contract'
import { backoffMs, cachedFor, messageOf, sleep, withTimeout } from '@session-service/server-kit'
import { estimateMemory, findModel, type LanguageModel, ModelError, type SlotFailure } from '@session-service/speech'
import type { z } from 'zod'
import { type Load, requireMemory, requireRoomFor, slotsOf } from './admission.js'
import { ModelEntry, type ModelUse } from './model-entry.js'
import { ModelSlot } from './model-slot.js'
import type { SpeechMetrics } from './speech-metrics.js'

/** A model that was loaded over REST is loaded again after this many failures in a row at most. */
const MOST_FAILURES = 5
const RELOAD = { firstMs: 500, longestMs: 8_000 }
/** A model that served this long has not failed in a row with an earlier failure, ms. */
const STABLE_MS = 30_000
/** A subscription that did not wait for the model is expected again within this time, ms. */
const RETRY_MS = 15_000
/** Streams that are being finished delay the end of a model by this, ms. */
const FINISH_MS = 500
/** Heartbeats use a reading of the available memory for this long, ms: it reads several files. */
const MEMORY_READING_MS = { withModels: 2_000, withoutModels: 10_000 }

export interface LanguageModelsOptions {
  /** The folder with a folder for each language. */
  folder: string
  /** The library of the engine `vosk`. */
  voskLibrary: string
  /** 0: as many as fit into the memory. */
  slots: number
  availableMemory: () => number
  metrics: SpeechMetrics
  /** The process of a model has failed: its streams have ended. */
  onFailed: (slot: ModelSlot, reason: string) => void
}

/** The language models of this node, each in a process of its own. */
export class LanguageModels {
  readonly #logger = new Logger(LanguageModels.name)
  readonly #entries = new Map<string, ModelEntry>()
  readonly #ending = new Set<Promise<void>>()
  readonly #shutdown = new AbortController()
  /** The dropped audio of slots that have ended. */
  #droppedBefore = 0
  readonly #readMemory: Record<keyof typeof MEMORY_READING_MS, () => number>

  constructor(private readonly options: LanguageModelsOptions) {
    const { withModels, withoutModels } = MEMORY_READING_MS
    this.#readMemory = {
      withModels: cachedFor(withModels, options.availableMemory),
      withoutModels: cachedFor(withoutModels, options.availableMemory),
    }
  }

  get states(): LanguageModelState[] {
    return [...this.#entries].map(([lang, { slot }]) => {
      if (!slot) return { lang, status: 'loading', streams: 0, memoryBytes: 0 }
      const { streams, memoryBytes } = slot.usage
      return { lang, status: 'loaded', streams, memoryBytes }
    })
  }

  get slots(): z.infer<typeof Slots> {
    const readMemory = this.#entries.size > 0 ? this.#readMemory.withModels : this.#readMemory.withoutModels
    return slotsOf(this.#loadWith(readMemory()))
  }

  /** Seconds of audio that were dropped because recognizers were too slow. */
  get droppedSeconds(): number {
    const running = [...this.#entries.values()].map(({ slot }) => slot?.usage.droppedSeconds ?? 0)
    return running.reduce((sum, seconds) => sum + seconds, this.#droppedBefore)
  }

  /**
   * Loads a model, which stays until it is unloaded.
   * @throws ServiceError NOT_FOUND, CONFLICT, NO_CAPACITY, LAUNCH_FAILED
   */
  async load(lang: string, engine: SpeechEngineName): Promise<void> {
    const model = await this.#find(lang, engine)
    const present = this.#entries.get(lang)
    if (present) throw conflict(`the language model ${lang} is ${present.slot ? 'already loaded' : 'being loaded'}`)
    await this.#add(model, true).ready
  }

  /** @throws ServiceError NOT_FOUND, CONFLICT, IN_USE */
  async unload(lang: string): Promise<void> {
    const entry = this.#entries.get(lang)
    if (!entry) {
      await this.#find(lang).catch((error: unknown) => {
        // The folder is there: this is no reason to say that the language is unknown.
        if (!(error instanceof ServiceError && error.code === 'LAUNCH_FAILED')) throw error
      })
      throw conflict(`the language model ${lang} is not loaded`)
    }
    if (!entry.slot) throw conflict(`the language model ${lang} is not loaded yet`)
    const { size } = entry.users
    if (size > 0) throw new ServiceError('IN_USE', `the language model ${lang} serves ${size} subscriptions`)
    await this.#end(entry)
  }

  /**
   * A use of the model by a subscription. Waits until it is loaded, at most `timeoutMs`; loading goes on afterwards.
   * `isRecognized`: its streams are recognized already, and need no further memory.
   * @throws ServiceError NOT_FOUND, NOT_READY, NO_CAPACITY, LAUNCH_FAILED
   */
  async acquire(
    lang: string,
    { engine, strategy, unloadAfterMs }: SpeechSettings,
    timeoutMs: number,
    isRecognized = false,
  ): Promise<ModelUse> {
    const found = await this.#find(lang, engine)
    let entry = this.#entries.get(lang)
    if (!entry && strategy === 'manual')
      throw new ServiceError('NOT_READY', `the language model ${lang} is not loaded: load it over the REST API`)
    entry ??= this.#add(found, false)
    if (entry.slot && !isRecognized) this.#requireStreamMemory(entry)
    entry.unloadAfterMs = unloadAfterMs
    clearTimeout(entry.unloadTimer)
    const user = {}
    entry.users.add(user)
    const release = (): void => {
      if (entry.users.delete(user)) this.#scheduleUnload(entry, entry.unloadAfterMs)
    }
    try {
      const slot = await withTimeout(entry.ready, timeoutMs, () => stillLoading(lang))
      if (!slot.running) throw new ServiceError('NOT_READY', `the language model ${lang} has just failed, retry`)
      return { slot, release }
    } catch (error) {
      entry.users.delete(user)
      this.#scheduleUnload(entry, Math.max(entry.unloadAfterMs, RETRY_MS))
      throw error
    }
  }

  /** Ends all processes, also those that are loading. */
  async close(): Promise<void> {
    this.#shutdown.abort(new Error('the media node shuts down'))
    const entries = [...this.#entries.values()]
    await Promise.all([
      ...entries.map((entry) => this.#end(entry)),
      ...entries.map(({ ready }) => ready.catch(() => undefined)),
      ...this.#ending,
    ])
  }

  get #load(): Load {
    return this.#loadWith(this.options.availableMemory())
  }

  #loadWith(available: number): Load {
    const loading = [...this.#entries.values()].filter(({ slot }) => !slot)
    return {
      slots: this.options.slots,
      models: this.#entries.size,
      available,
      reserved: loading.reduce((sum, { memory }) => sum + memory.model, 0),
    }
  }

  /** @throws ServiceError NOT_FOUND, or LAUNCH_FAILED for a folder that cannot be used */
  async #find(lang: string, engine?: SpeechEngineName): Promise<LanguageModel> {
    const model = await findModel(this.options.folder, lang).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error
      if (error.code === 'unknown-language') throw unknownModel(error.message)
      throw new ServiceError('LAUNCH_FAILED', error.message, { cause: error })
    })
    if (engine !== undefined && model.files.engine !== engine)
      throw unknownModel(`the language model ${lang} is one of the engine ${model.files.engine}, not of ${engine}`)
    return model
  }

  #add(model: LanguageModel, isPinned: boolean): ModelEntry {
    if (this.#shutdown.signal.aborted) throw new ServiceError('UNAVAILABLE', 'the media node shuts down')
    const { model: own, stream } = estimateMemory(model)
    try {
      requireRoomFor(model.language, own + stream, this.#load)
    } catch (error) {
      this.options.metrics.load('refused')
      throw error
    }
    const entry = new ModelEntry(model, isPinned, (each) => this.#untilLoaded(each))
    this.#entries.set(entry.lang, entry)
    return entry
  }

  /** The first load has one attempt; a reload several, with back-off. */
  async #untilLoaded(entry: ModelEntry): Promise<ModelSlot> {
    for (;;) {
      try {
        return await this.#startSlot(entry)
      } catch (error) {
        entry.failures++
        const { signal } = this.#shutdown
        const isFirstLoad = entry.loadedAt === 0
        if (signal.aborted || isFirstLoad || entry.failures >= MOST_FAILURES) {
          this.#giveUp(entry)
          throw new ServiceError('LAUNCH_FAILED', messageOf(error), { cause: error })
        }
        await sleep(backoffMs(entry.failures, RELOAD), signal)
      }
    }
  }

  async #startSlot(entry: ModelEntry): Promise<ModelSlot> {
    const { model } = entry
    const { folder, files } = model
    const engine =
      files.engine === 'vosk'
        ? ({ name: 'vosk', library: this.options.voskLibrary } as const)
        : ({ name: 'sherpa' } as const)
    const { signal } = this.#shutdown
    const begin = performance.now()
    try {
      const onFailed = (slot: ModelSlot, reason: string, failure: SlotFailure): void =>
        this.#failed(entry, slot, reason, failure)
      const slot = await ModelSlot.start({
        ...{ model, engine, signal, onFailed },
        requireStreamMemory: () => this.#requireStreamMemory(entry),
      })
      entry.slot = slot
      entry.loadedAt = performance.now()
      const ms = Math.round(entry.loadedAt - begin)
      this.#logger.log({ lang: entry.lang, engine: engine.name, slotPid: slot.pid, ms }, 'loaded a language model')
      this.options.metrics.load('loaded')
      this.#scheduleUnload(entry, Math.max(entry.unloadAfterMs, RETRY_MS))
      return slot
    } catch (error) {
      if (!signal.aborted)
        this.#logger.error({ err: error, lang: entry.lang, folder }, 'loading a language model failed')
      this.options.metrics.load('failed')
      throw error
    }
  }

  #requireStreamMemory({ lang, memory }: ModelEntry): void {
    requireMemory(`recognize another stream in ${lang}`, memory.stream, this.#load)
  }

  #failed(entry: ModelEntry, slot: ModelSlot, reason: string, failure: SlotFailure): void {
    this.#logger.warn({ lang: entry.lang, slotPid: slot.pid, streams: slot.streams }, reason)
    this.options.metrics.failure(failure)
    this.#retire(entry, slot)
    entry.users.clear()
    entry.failures = performance.now() - entry.loadedAt > STABLE_MS ? 1 : entry.failures + 1
    if (entry.isPinned && entry.failures < MOST_FAILURES) entry.reload()
    else this.#giveUp(entry)
    this.options.onFailed(slot, reason)
  }

  /** Unloads a model that `on_demand` has loaded, unless it is used again before. */
  #scheduleUnload(entry: ModelEntry, afterMs: number): void {
    clearTimeout(entry.unloadTimer)
    if (entry.isPinned || entry.users.size > 0 || !entry.slot) return
    entry.unloadTimer = setTimeout(() => {
      if (entry.slot && entry.slot.streams > 0) return this.#scheduleUnload(entry, FINISH_MS)
      this.#logger.log({ lang: entry.lang }, 'unloading a language model without subscriptions')
      void this.#end(entry)
    }, afterMs)
  }

  async #end(entry: ModelEntry): Promise<void> {
    this.#remove(entry)
    const { slot } = entry
    if (!slot) return
    this.#retire(entry, slot)
    const ending = slot.stop()
    this.#ending.add(ending)
    await ending
    this.#ending.delete(ending)
  }

  #giveUp(entry: ModelEntry): void {
    this.#remove(entry)
    const { lang, failures } = entry
    if (entry.isPinned && failures > 1)
      this.#logger.error({ lang }, `the language model failed ${failures} times in a row and is not loaded again`)
  }

  #remove(entry: ModelEntry): void {
    clearTimeout(entry.unloadTimer)
    if (this.#entries.get(entry.lang) === entry) this.#entries.delete(entry.lang)
  }

  #retire(entry: ModelEntry, slot: ModelSlot): void {
    clearTimeout(entry.unloadTimer)
    this.#droppedBefore += slot.usage.droppedSeconds
    entry.slot = undefined
  }
}

const conflict = (message: string): ServiceError => new ServiceError('CONFLICT', message)

const unknownModel = (message: string): ServiceError =>
  new ServiceError('NOT_FOUND', message, { subject: 'languageModel' })

const stillLoading = (lang: string): ServiceError =>
  new ServiceError('NOT_READY', `the language model ${lang} is still being loaded, retry`)
