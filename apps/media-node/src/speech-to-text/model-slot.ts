import type { LanguageModelState } from '@session-service/contract'
import {
  type EngineOptions,
  type LanguageModel,
  type RtpSourceOptions,
  Slot,
  type SlotFailure,
  type SpeechResult,
} from '@session-service/speech'

/** Follows a stream in a slot. */
interface StreamListener {
  /** Times are seconds of the stream. */
  result(result: SpeechResult): void
  /** The stream has ended; with a reason when it failed. Not called after a failure of the whole slot. */
  closed(reason?: string): void
}

/** A stream in a slot. */
export interface OpenStream {
  /** Its RTP and RTCP are expected here, on loopback. */
  port: number
  /** The time of its begin by `performance.now()`. */
  startedAt: number
  /** `finish`: the results of the audio so far are still reported, before `closed`. */
  close(options?: { finish?: boolean }): void
}

interface ModelSlotOptions {
  model: LanguageModel
  engine: EngineOptions
  signal: AbortSignal
  /** Throws when there is no memory for another stream. */
  requireStreamMemory: () => void
  /** The process has failed. */
  onFailed: (slot: ModelSlot, reason: string, failure: SlotFailure) => void
}

/** A loaded language model, and the listeners of its streams. */
export class ModelSlot {
  /** @throws SlotError */
  static async start(options: ModelSlotOptions): Promise<ModelSlot> {
    const started = new ModelSlot(options.requireStreamMemory)
    const { model, engine, signal } = options
    started.#slot = await Slot.start({
      engine,
      folder: model.folder,
      language: model.language,
      signal,
      events: {
        result: (stream, _utterance, result) => started.#listeners.get(stream)?.result(result),
        closed: (stream, reason) => {
          const listener = started.#listeners.get(stream)
          started.#listeners.delete(stream)
          listener?.closed(reason)
        },
        exit: (reason, failure) => {
          started.#listeners.clear()
          if (reason !== undefined) options.onFailed(started, reason, failure ?? 'crashed')
        },
      },
    })
    return started
  }

  readonly #listeners = new Map<string, StreamListener>()
  #slot: Slot | undefined
  #opened = 0

  private constructor(private readonly requireStreamMemory: () => void) {}

  get running(): boolean {
    return this.#slot?.running === true
  }

  get pid(): number | undefined {
    return this.#slot?.pid
  }

  /** Streams that are open or being opened. */
  get streams(): number {
    return this.#listeners.size
  }

  get usage(): Pick<LanguageModelState, 'streams' | 'memoryBytes'> & { droppedSeconds: number } {
    const { memory = 0, dropped = 0 } = this.#slot?.usage ?? {}
    return { streams: this.streams, memoryBytes: memory, droppedSeconds: dropped }
  }

  /** @throws SlotError, or ServiceError NO_CAPACITY */
  async open(source: Omit<RtpSourceOptions, 'kind'>, listener: StreamListener): Promise<OpenStream> {
    const slot = this.#slot
    if (!slot) throw new Error('the slot has not started')
    this.requireStreamMemory()
    const stream = String(this.#opened++)
    this.#listeners.set(stream, listener)
    try {
      const { port = 0, startedAt } = await slot.open(stream, { kind: 'rtp', ...source })
      return { port, startedAt, close: (options) => slot.close(stream, options) }
    } catch (error) {
      this.#listeners.delete(stream)
      throw error
    }
  }

  async stop(): Promise<void> {
    await this.#slot?.stop()
  }
}
