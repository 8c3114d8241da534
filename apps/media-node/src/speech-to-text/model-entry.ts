import { estimateMemory, type LanguageModel } from '@session-service/speech'
import { markHandled } from '@session-service/server-kit'
import type { ModelSlot } from './model-slot.js'

/** A subscription holds the model that it uses. */
export interface ModelUse {
  readonly slot: ModelSlot
  release(): void
}

/** A language model that is loaded, being loaded, or waiting to be loaded again. */
export class ModelEntry {
  /** The estimated memory of the model, and of each of its streams, bytes. */
  readonly memory: { model: number; stream: number }
  /** Subscriptions that use it or wait for it. */
  readonly users = new Set<object>()
  /** Undefined while it is not loaded. */
  slot: ModelSlot | undefined
  unloadAfterMs = 0
  unloadTimer: NodeJS.Timeout | undefined
  /** Failures in a row. */
  failures = 0
  /** By `performance.now()`; 0 before the first load. */
  loadedAt = 0
  #ready: Promise<ModelSlot>

  /** @param isPinned loaded over REST: it stays until it is unloaded over REST, and is loaded again after a failure */
  constructor(
    readonly model: LanguageModel,
    readonly isPinned: boolean,
    private readonly load: (entry: ModelEntry) => Promise<ModelSlot>,
  ) {
    this.memory = estimateMemory(model)
    this.#ready = this.#load()
  }

  get lang(): string {
    return this.model.language
  }

  /** The slot, as soon as the model is loaded. */
  get ready(): Promise<ModelSlot> {
    return this.#ready
  }

  reload(): void {
    this.#ready = this.#load()
  }

  #load(): Promise<ModelSlot> {
    const ready = this.load(this)
    // Callers that wait for it get the error; after a failed reload there may be none.
    markHandled(ready)
    return ready
  }
}
