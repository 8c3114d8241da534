import { SAMPLE_RATE, type SpeechModel, type SpeechResult, type SpeechStream } from '../engines/engine.js'
import { Serial } from '../engines/serial.js'

/** A recognizer is closed after this silence, ms. */
const IDLE_MS = 60_000

/**
 * A stream that holds a recognizer only while its speaker speaks: most participants are silent for most of the time, and a
 * recognizer takes tens of MiB. Times go on over the recognizers.
 */
export class SpeakerStream implements SpeechStream {
  readonly #model: Pick<SpeechModel, 'open'>
  readonly #idleMs: number
  readonly #calls = new Serial()
  #recognizer: SpeechStream | undefined
  #written = 0
  /** The samples that earlier recognizers received. */
  #writtenBefore = 0
  #isIdle = false
  #isClosed = false
  #timer: NodeJS.Timeout | undefined

  constructor(model: Pick<SpeechModel, 'open'>, idleMs = IDLE_MS) {
    this.#model = model
    this.#idleMs = idleMs
  }

  write(samples: Int16Array): Promise<SpeechResult[]> {
    return this.#calls.run(async () => {
      if (this.#isClosed) throw new Error('the stream is closed')
      this.#isIdle = false
      clearTimeout(this.#timer)
      const recognizer = this.#recognizer ?? (await this.#open())
      this.#written += samples.length
      return this.#inStreamTime(await recognizer.write(samples))
    })
  }

  endUtterance(): Promise<SpeechResult[]> {
    return this.#calls.run(async () => {
      if (!this.#recognizer) return []
      const results = await this.#recognizer.endUtterance()
      this.#isIdle = true
      this.#timer = setTimeout(() => void this.#calls.run(() => this.#release()), this.#idleMs).unref()
      return this.#inStreamTime(results)
    })
  }

  close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    return this.#calls.run(async () => {
      const recognizer = this.#recognizer
      this.#recognizer = undefined
      await recognizer?.close()
    })
  }

  async #open(): Promise<SpeechStream> {
    this.#writtenBefore = this.#written
    return (this.#recognizer = await this.#model.open())
  }

  async #release(): Promise<void> {
    if (!this.#isIdle) return
    const recognizer = this.#recognizer
    this.#recognizer = undefined
    await recognizer?.close()
  }

  #inStreamTime(results: SpeechResult[]): SpeechResult[] {
    const before = this.#writtenBefore / SAMPLE_RATE
    if (before === 0) return results
    return results.map(({ words, start, end, ...result }) => ({
      ...result,
      ...(words && { words: words.map((word) => ({ ...word, start: word.start + before, end: word.end + before })) }),
      ...(start !== undefined && { start: start + before }),
      ...(end !== undefined && { end: end + before }),
    }))
  }
}
