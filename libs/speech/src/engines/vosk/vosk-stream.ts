import type { Semaphore } from '@session-service/server-kit/async'
import type { SpeechResult, SpeechStream } from '../engine.js'
import { Serial } from '../serial.js'
import type { Handle, VoskLibrary } from './vosk-library.js'
import { parseFinal, parsePartial } from './vosk-results.js'

const UTTERANCE_ENDED = 1

/** One recognizer, which takes one call at a time. */
export class VoskStream implements SpeechStream {
  readonly #library: VoskLibrary
  readonly #recognizer: Handle
  readonly #threads: Semaphore
  readonly #calls = new Serial()
  #partial = ''
  #isEmpty = true
  #isClosed = false

  constructor(library: VoskLibrary, recognizer: Handle, threads: Semaphore) {
    this.#library = library
    this.#recognizer = recognizer
    this.#threads = threads
  }

  write(samples: Int16Array): Promise<SpeechResult[]> {
    return this.#call(async () => {
      if (samples.length === 0) return []
      this.#isEmpty = false
      const outcome = await this.#library.accept(this.#recognizer, samples, samples.length)
      if (outcome < 0) throw new Error('Vosk cannot process the audio')
      if (outcome === UTTERANCE_ENDED) return this.#final(await this.#library.result(this.#recognizer))
      return this.#newPartial(await this.#library.partialResult(this.#recognizer))
    })
  }

  endUtterance(): Promise<SpeechResult[]> {
    return this.#call(async () => {
      if (this.#isEmpty) return []
      this.#isEmpty = true
      return this.#final(await this.#library.finalResult(this.#recognizer))
    })
  }

  close(): Promise<void> {
    return this.#calls.run(async () => {
      if (this.#isClosed) return
      this.#isClosed = true
      await this.#library.freeRecognizer(this.#recognizer)
    })
  }

  #call<T>(task: () => Promise<T>): Promise<T> {
    return this.#calls.run(() => {
      if (this.#isClosed) throw new Error('the stream is closed')
      return this.#threads.run(task)
    })
  }

  #final(raw: string): SpeechResult[] {
    this.#partial = ''
    const result = parseFinal(raw)
    return result.text === '' ? [] : [result]
  }

  #newPartial(raw: string): SpeechResult[] {
    const result = parsePartial(raw)
    if (result.text === this.#partial) return []
    this.#partial = result.text
    return result.text === '' ? [] : [result]
  }
}
