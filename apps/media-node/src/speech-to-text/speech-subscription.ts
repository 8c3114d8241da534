import type { ServiceError } from '@session-service/contract'
import { markHandled } from '@session-service/server-kit'
import type { ModelUse } from './model-entry.js'
import type { PublisherSpeech } from './publisher-speech.js'

/** The subscription of a connection to the speech of a publisher in one language. */
export class SpeechSubscription {
  /** Held once the model is loaded. */
  use: ModelUse | undefined
  speech: PublisherSpeech | undefined
  /** Receives results. */
  isActive = false
  /** Whether the sentences belong to the transcript of the session. */
  isTranscribed = false
  readonly #ended = Promise.withResolvers<never>()
  #isEnded = false

  constructor(
    readonly connectionId: string,
    readonly publisherId: string,
    readonly lang: string,
  ) {
    // An active subscription has no command that waits.
    markHandled(this.#ended.promise)
  }

  get isEnded(): boolean {
    return this.#isEnded
  }

  /** The outcome of `work`; rejects as soon as the subscription has ended. */
  unlessEnded<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.#ended.promise])
  }

  /** `reason`: the answer to the command that still waits. */
  end(reason: ServiceError): void {
    this.#isEnded = true
    this.isActive = false
    this.#ended.reject(reason)
  }
}
