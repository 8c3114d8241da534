import type { Semaphore } from '@session-service/server-kit/async'
import { SAMPLE_RATE, type SpeechResult, type SpeechStream } from '../engine.js'
import { Serial } from '../serial.js'
import { concat, toFloat, Windows } from './samples.js'
import { UTTERANCE_PAUSE_S, VAD_WINDOW } from './sherpa-config.js'
import type { OfflineRecognizer, Vad } from './sherpa-library.js'

/** The speech so far is decoded each time this much was added, samples. */
const PARTIAL_EVERY = 0.4 * SAMPLE_RATE
/** Partial results take at most one of this many parts of a processor. */
const PARTIAL_SHARE = 4
/** Audio before the detected begin of speech and behind its end, which keeps quiet consonants, samples. */
const PRE_ROLL = 0.3 * SAMPLE_RATE
const POST_ROLL = 0.4 * SAMPLE_RATE
/** The detector finds speech about 0.2 s after its begin. */
const KEPT_SILENCE = PRE_ROLL + 0.3 * SAMPLE_RATE
/** The silence after which the detector reports the end of an utterance. */
const TAIL = new Float32Array(Math.ceil(((UTTERANCE_PAUSE_S + 0.2) * SAMPLE_RATE) / VAD_WINDOW) * VAD_WINDOW)

/**
 * Recognizes whole utterances, which a voice-activity detector finds. Partial results come from decoding the utterance
 * so far again and again.
 */
export class OfflineSpeechStream implements SpeechStream {
  readonly #recognizer: OfflineRecognizer
  readonly #vad: Vad
  readonly #threads: Semaphore
  readonly #calls = new Serial()
  readonly #windows = new Windows(VAD_WINDOW)
  /** The utterance so far with its pre-roll; without speech the last samples only. */
  #speech: Float32Array[] = []
  #speechLength = 0
  /** Samples that the detector received since its reset. */
  #detected = 0
  #sincePartial = 0
  #partialEvery = PARTIAL_EVERY
  #partial = ''
  #written = 0
  /** The sample at which the detector started to count. */
  #origin = 0
  #isClosed = false

  constructor(recognizer: OfflineRecognizer, vad: Vad, threads: Semaphore) {
    this.#recognizer = recognizer
    this.#vad = vad
    this.#threads = threads
  }

  write(samples: Int16Array): Promise<SpeechResult[]> {
    return this.#call(async () => {
      this.#written += samples.length
      const results = await this.#detect(toFloat(samples))
      if (this.#isPartialDue()) results.push(...(await this.#newPartial()))
      return results
    })
  }

  endUtterance(): Promise<SpeechResult[]> {
    return this.#call(async () => {
      const results = await this.#detect(new Float32Array((VAD_WINDOW - this.#windows.rest) % VAD_WINDOW))
      if (this.#vad.isDetected()) results.push(...(await this.#detect(TAIL)))
      this.#vad.reset()
      this.#origin = this.#written
      this.#detected = 0
      this.#clear()
      return results
    })
  }

  close(): Promise<void> {
    return this.#calls.run(() => {
      this.#isClosed = true
      this.#clear()
      return Promise.resolve()
    })
  }

  #call<T>(task: () => Promise<T>): Promise<T> {
    return this.#calls.run(() => {
      if (this.#isClosed) throw new Error('the stream is closed')
      return task()
    })
  }

  /** The final results of the utterances that end in these samples. */
  async #detect(samples: Float32Array): Promise<SpeechResult[]> {
    const results: SpeechResult[] = []
    for (const window of this.#windows.add(samples)) {
      this.#vad.acceptWaveform(window)
      this.#keep(window)
      while (!this.#vad.isEmpty()) {
        // Copied: the buffer of C would be released at an unknown time.
        const utterance = this.#vad.front(false)
        this.#vad.pop()
        results.push(...(await this.#final(utterance)))
      }
      this.#sincePartial += window.length
      this.#forgetSilence()
    }
    return results
  }

  #keep(window: Float32Array): void {
    this.#speech.push(window)
    this.#speechLength += window.length
    this.#detected += window.length
  }

  /** Without speech only the last samples are kept. */
  #forgetSilence(): void {
    if (this.#vad.isDetected()) return
    this.#sincePartial = 0
    while (this.#speechLength - (this.#speech[0]?.length ?? 0) >= KEPT_SILENCE)
      this.#speechLength -= this.#speech.shift()?.length ?? 0
  }

  #clear(): void {
    this.#speech = []
    this.#speechLength = 0
    this.#sincePartial = 0
    this.#partial = ''
  }

  async #final(utterance: { start: number; samples: Float32Array }): Promise<SpeechResult[]> {
    const { text, raw } = await this.#decode(this.#withRoll(utterance))
    this.#clear()
    if (text === '') return []
    const start = (this.#origin + utterance.start) / SAMPLE_RATE
    return [{ kind: 'final', text, start, end: start + utterance.samples.length / SAMPLE_RATE, raw }]
  }

  /** The utterance with the audio around it, as far as that is kept. */
  #withRoll({ start, samples }: { start: number; samples: Float32Array }): Float32Array {
    const kept = concat(this.#speech)
    const first = this.#detected - kept.length
    if (start < first) return samples
    return kept.subarray(Math.max(0, start - PRE_ROLL - first), start + samples.length + POST_ROLL - first)
  }

  /** The first partial result of an utterance is never delayed: a short utterance would have none. */
  #isPartialDue(): boolean {
    const every = this.#partial === '' ? PARTIAL_EVERY : this.#partialEvery
    return this.#vad.isDetected() && this.#sincePartial >= every
  }

  async #newPartial(): Promise<SpeechResult[]> {
    this.#sincePartial = 0
    const begin = performance.now()
    const { text, raw } = await this.#decode(concat(this.#speech))
    const seconds = (performance.now() - begin) / 1_000
    this.#partialEvery = Math.max(PARTIAL_EVERY, PARTIAL_SHARE * seconds * SAMPLE_RATE)
    if (text === '' || text === this.#partial) return []
    this.#partial = text
    return [{ kind: 'partial', text, raw }]
  }

  #decode(samples: Float32Array): Promise<{ text: string; raw: string }> {
    return this.#threads.run(async () => {
      const stream = this.#recognizer.createStream()
      stream.acceptWaveform({ sampleRate: SAMPLE_RATE, samples })
      const result = await this.#recognizer.decodeAsync(stream)
      return { text: result.text.trim(), raw: JSON.stringify(result) }
    })
  }
}
