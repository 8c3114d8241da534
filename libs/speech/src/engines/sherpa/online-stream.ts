import { SAMPLE_RATE, type SpeechResult, type SpeechStream } from '../engine.js'
import { Serial } from '../serial.js'
import { wordsOf } from './online-words.js'
import { toFloat } from './samples.js'
import type { OnlineRecognizer, OnlineStream } from './sherpa-library.js'

/** The silence that a transducer needs behind the last word. */
const TAIL = new Float32Array(0.66 * SAMPLE_RATE)

/** A streaming transducer. Its library decodes synchronously, in small steps between which other streams run. */
export class OnlineSpeechStream implements SpeechStream {
  readonly #recognizer: OnlineRecognizer
  readonly #calls = new Serial()
  #stream: OnlineStream
  #partial = ''
  #written = 0
  /** The sample at which the native stream begins. */
  #origin = 0
  #isClosed = false

  constructor(recognizer: OnlineRecognizer) {
    this.#recognizer = recognizer
    this.#stream = recognizer.createStream()
  }

  write(samples: Int16Array): Promise<SpeechResult[]> {
    return this.#call(async () => {
      this.#written += samples.length
      await this.#decode(toFloat(samples))
      if (!this.#recognizer.isEndpoint(this.#stream)) return this.#newPartial()
      const results = this.#final()
      this.#recognizer.reset(this.#stream)
      return results
    })
  }

  /** The silence behind the last word must not shift the times of the next utterance: that gets a native stream of its own. */
  endUtterance(): Promise<SpeechResult[]> {
    return this.#call(async () => {
      if (this.#written === this.#origin) return []
      await this.#decode(TAIL)
      const results = this.#final()
      this.#stream = this.#recognizer.createStream()
      this.#origin = this.#written
      return results
    })
  }

  close(): Promise<void> {
    return this.#calls.run(() => {
      this.#isClosed = true
      return Promise.resolve()
    })
  }

  #call<T>(task: () => Promise<T>): Promise<T> {
    return this.#calls.run(() => {
      if (this.#isClosed) throw new Error('the stream is closed')
      return task()
    })
  }

  async #decode(samples: Float32Array): Promise<void> {
    this.#stream.acceptWaveform({ sampleRate: SAMPLE_RATE, samples })
    while (this.#recognizer.isReady(this.#stream)) {
      this.#recognizer.decode(this.#stream)
      await new Promise(setImmediate)
    }
  }

  #newPartial(): SpeechResult[] {
    const result = this.#recognizer.getResult(this.#stream)
    const text = result.text.trim()
    if (text === '' || text === this.#partial) return []
    this.#partial = text
    return [{ kind: 'partial', text, raw: JSON.stringify(result) }]
  }

  #final(): SpeechResult[] {
    this.#partial = ''
    const result = this.#recognizer.getResult(this.#stream)
    const text = result.text.trim()
    if (text === '') return []
    const origin = this.#origin / SAMPLE_RATE
    const words = wordsOf(result).map(({ word, start, end }) => ({ word, start: origin + start, end: origin + end }))
    const [first, last] = [words[0], words.at(-1)]
    return [
      {
        kind: 'final',
        text,
        ...(first && last && { words, start: first.start, end: last.end }),
        raw: JSON.stringify(result),
      },
    ]
  }
}
