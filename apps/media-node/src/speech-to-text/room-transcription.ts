import { Logger } from '@nestjs/common'
import type { SpeechSettings } from '@session-service/contract'
import { backoffMs, markHandled, sleep } from '@session-service/server-kit'
import type { LanguageModels } from './language-models.js'
import type { ModelUse } from './model-entry.js'
import type { ModelSlot } from './model-slot.js'

/** The command waits this long for the model, which goes on loading afterwards, ms. */
const ANSWER_MS = 9_000
/** A model is loaded or has failed after this time, ms. */
const LOAD_MS = 75_000
const REOPEN = { firstMs: 500, longestMs: 10_000 }
/** A transcription that worked this long has not failed in a row with an earlier failure, ms. */
const STABLE_MS = 30_000

interface RoomTranscriptionOptions {
  roomId: string
  lang: string
  settings: SpeechSettings
  models: Pick<LanguageModels, 'acquire'>
  /** The model is loaded: the speech of the room that is not recognized is to be recognized. */
  onOpen: (transcription: RoomTranscription, slot: ModelSlot) => void
}

/** The recognition of the speech of a whole room. It holds its model, and acquires it again after a failure. */
export class RoomTranscription {
  readonly #logger = new Logger(RoomTranscription.name)
  readonly #ended = new AbortController()
  #use: ModelUse | undefined
  /** Failures in a row. */
  #failures = 0
  /** By `performance.now()`. */
  #openedAt = 0
  #isReopening = false
  /** Resolves when the model is loaded or still being loaded. Rejects when it cannot be used. */
  readonly started: Promise<void>

  constructor(private readonly options: RoomTranscriptionOptions) {
    this.started = this.#start()
    markHandled(this.started)
  }

  get lang(): string {
    return this.options.lang
  }

  /** Undefined while the model is not loaded. */
  get slot(): ModelSlot | undefined {
    return this.#use?.slot
  }

  /** The process of the model has failed. */
  slotFailed(slot: ModelSlot): void {
    if (this.#use?.slot !== slot) return
    this.#use = undefined
    void this.#openAgain()
  }

  /** A stream of the room is not recognized any more although it goes on. */
  streamFailed(): void {
    if (this.#use) void this.#openAgain()
  }

  end(): void {
    this.#ended.abort()
    this.#use?.release()
    this.#use = undefined
  }

  async #start(): Promise<void> {
    const answered = new AbortController()
    const { signal } = answered
    const opening = this.#open().catch((error: unknown) => {
      if (!signal.aborted) throw error
      this.#warn(error)
      void this.#openAgain()
    })
    await Promise.race([opening, sleep(ANSWER_MS, AbortSignal.any([signal, this.#ended.signal]))]).finally(() =>
      answered.abort(),
    )
  }

  async #open(): Promise<void> {
    const { lang, settings, models, onOpen } = this.options
    const use = this.#use ?? (await models.acquire(lang, settings, LOAD_MS))
    if (this.#ended.signal.aborted) return use.release()
    this.#use = use
    this.#openedAt = performance.now()
    onOpen(this, use.slot)
  }

  async #openAgain(): Promise<void> {
    const { signal } = this.#ended
    if (this.#isReopening) return
    this.#isReopening = true
    if (performance.now() - this.#openedAt > STABLE_MS) this.#failures = 0
    for (let isOpen = false; !isOpen && !signal.aborted;) {
      await sleep(backoffMs(++this.#failures, REOPEN), signal)
      if (signal.aborted) break
      isOpen = await this.#open().then(
        () => true,
        (error: unknown) => this.#warn(error),
      )
    }
    this.#isReopening = false
  }

  #warn(error: unknown): false {
    const { roomId, lang } = this.options
    this.#logger.warn({ err: error, roomId, lang }, 'transcribing a session failed, will retry')
    return false
  }
}
