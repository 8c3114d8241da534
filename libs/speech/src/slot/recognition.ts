import type { AudioSink } from '../engines/audio-source.js'
import { SAMPLE_RATE, type SpeechResult, type SpeechStream } from '../engines/engine.js'
import { TimeMap } from './time-map.js'

/** Less audio than this waits for more: each call of an engine has a cost of its own. */
const BATCH = 0.2 * SAMPLE_RATE
/** More audio than this takes several calls, so that partial results come also after a delay. */
const LARGEST_BATCH = 0.6 * SAMPLE_RATE
/** The audio that waits for the recognizer at most. */
const QUEUE = 10 * SAMPLE_RATE
/** The newest part of the audio that is kept when there would be more. */
const KEPT_QUEUE = 5 * SAMPLE_RATE

interface Frame {
  position: number
  samples: Int16Array
}
/** An utterance ends between two frames. */
type Item = Frame | 'utterance-end'

interface RecognitionEvents {
  /** Times are seconds of the stream. `utterance` counts final results: partial results belong to the next one. */
  result(result: SpeechResult, utterance: number): void
  /** Called once: the audio has ended and all of it was recognized, or the recognizer failed. */
  ended(error?: Error): void
}

/** Brings the audio of one stream to its recognizer, one call at a time, and the results into the time of the stream. */
export class Recognition implements AudioSink {
  readonly #stream: SpeechStream
  readonly #events: RecognitionEvents
  readonly #times = new TimeMap()
  #queue: Item[] = []
  #queued = 0
  #dropped = 0
  #utterance = 0
  /** The first sample since the last final result, and the end of what was written: positions. */
  #begin: number | undefined
  #end = 0
  #isRunning = false
  /** No more audio is taken. */
  #isEnding: { error: Error | undefined } | undefined
  #isClosed = false
  #waiting: (() => void)[] = []

  constructor(stream: SpeechStream, events: RecognitionEvents) {
    this.#stream = stream
    this.#events = events
  }

  /** Seconds of audio that were dropped because the recognizer was too slow. */
  get droppedSeconds(): number {
    return this.#dropped / SAMPLE_RATE
  }

  frame(position: number, samples: Int16Array): void {
    if (this.#isEnding) return
    this.#queue.push({ position, samples })
    this.#queued += samples.length
    if (this.#queued > QUEUE) this.#dropOldest()
    if (this.#queued >= BATCH) void this.#run()
  }

  utteranceEnd(): void {
    if (this.#isEnding || this.#queue.at(-1) === 'utterance-end') return
    this.#queue.push('utterance-end')
    void this.#run()
  }

  ended(error?: Error): void {
    if (this.#isEnding) return
    this.utteranceEnd()
    this.#isEnding = { error }
    void this.#run()
  }

  /** Resolves when little audio waits: a source that is quicker than real time waits for it. */
  async drained(): Promise<void> {
    while (this.#queued > BATCH && !this.#isClosed) await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  /** Ends without another result. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#isEnding ??= { error: undefined }
    this.#queue = []
    this.#wake()
    await this.#stream.close()
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return
    this.#isRunning = true
    try {
      while (!this.#isClosed && this.#isDue()) await this.#step()
      if (this.#isEnding && !this.#isClosed) await this.#finish(this.#isEnding.error)
    } catch (error) {
      if (!this.#isClosed) await this.#finish(error as Error)
    } finally {
      this.#isRunning = false
    }
  }

  #isDue(): boolean {
    return this.#queued >= BATCH || this.#queue.includes('utterance-end')
  }

  /**
   * Drops a long piece at once: recognizers make no sense of audio with many gaps. The utterance ends before the gap, so
   * that its words are not joined with later ones.
   */
  #dropOldest(): void {
    while (this.#queued > KEPT_QUEUE) {
      const oldest = this.#queue.shift()
      if (!oldest) break
      if (oldest === 'utterance-end') continue
      this.#queued -= oldest.samples.length
      this.#dropped += oldest.samples.length
    }
    if (this.#queue[0] !== 'utterance-end') this.#queue.unshift('utterance-end')
  }

  async #step(): Promise<void> {
    const frames = this.#takeFrames()
    const samples = join(frames)
    this.#queued -= samples.length
    for (const { position, samples: part } of frames) {
      this.#times.add(position, part.length)
      this.#begin ??= position
      this.#end = position + part.length
    }
    if (samples.length > 0) this.#report(await this.#stream.write(samples))
    this.#wake()
    if (this.#queue[0] !== 'utterance-end') return
    this.#queue.shift()
    this.#report(await this.#stream.endUtterance())
    this.#begin = undefined
  }

  /** The frames up to the end of the utterance, limited. */
  #takeFrames(): Frame[] {
    const frames: Frame[] = []
    let length = 0
    for (let next = this.#queue[0]; next && next !== 'utterance-end' && length < LARGEST_BATCH; next = this.#queue[0]) {
      frames.push(next)
      length += next.samples.length
      this.#queue.shift()
    }
    return frames
  }

  async #finish(error: Error | undefined): Promise<void> {
    await this.close()
    this.#events.ended(error)
  }

  #report(results: SpeechResult[]): void {
    if (this.#isClosed) return
    for (const result of results) {
      this.#events.result(this.#inStreamTime(result), this.#utterance)
      if (result.kind === 'final') {
        this.#utterance++
        this.#begin = undefined
      }
    }
  }

  #inStreamTime(result: SpeechResult): SpeechResult {
    const start = (seconds: number): number => this.#times.toStream(seconds)
    const end = (seconds: number): number => this.#times.toStreamEnd(seconds)
    return {
      ...result,
      ...(result.words && {
        words: result.words.map((word) => ({ ...word, start: start(word.start), end: end(word.end) })),
      }),
      ...(result.kind === 'partial' && { start: (this.#begin ?? this.#end) / SAMPLE_RATE }),
      ...(result.start !== undefined && { start: start(result.start) }),
      ...(result.end !== undefined && { end: end(result.end) }),
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve()
  }
}

function join(frames: readonly Frame[]): Int16Array {
  if (frames.length === 1 && frames[0]) return frames[0].samples
  const all = new Int16Array(frames.reduce((sum, { samples }) => sum + samples.length, 0))
  let at = 0
  for (const { samples } of frames) {
    all.set(samples, at)
    at += samples.length
  }
  return all
}
