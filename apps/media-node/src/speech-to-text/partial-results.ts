import type { SpeechResult } from '@session-service/speech'

/** Partial results are sent at most this often, ms. */
const INTERVAL_MS = 250

/** Limits the rate of partial results: the latest of those that came meanwhile is sent, unless a final one comes first. */
export class PartialResults {
  #text = ''
  #sentAt = Number.NEGATIVE_INFINITY
  #waiting: SpeechResult | undefined
  #timer: NodeJS.Timeout | undefined

  constructor(private readonly send: (result: SpeechResult) => void) {}

  add(result: SpeechResult): void {
    const inMs = this.#sentAt + INTERVAL_MS - performance.now()
    this.#waiting = result
    if (inMs <= 0) this.#sendWaiting()
    else this.#timer ??= setTimeout(() => this.#sendWaiting(), inMs)
  }

  /** The utterance has ended: its partial results are obsolete. */
  clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = undefined
    this.#text = ''
  }

  #sendWaiting(): void {
    const result = this.#waiting
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#waiting = undefined
    if (!result || result.text === this.#text) return
    this.#text = result.text
    this.#sentAt = performance.now()
    this.send(result)
  }
}
