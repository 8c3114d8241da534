import { readFile } from 'node:fs/promises'
import type { AudioAddress, AudioSink, AudioSource } from '../engines/audio-source.js'
import { SAMPLE_RATE } from '../engines/engine.js'
import type { FileSourceOptions } from './slot-protocol.js'

const FRAME = 0.02 * SAMPLE_RATE

/** The samples of a file, with a gate that opens and closes at given times. */
export class FileSource implements AudioSource {
  readonly #options: FileSourceOptions
  readonly #closing = new AbortController()
  #startedAt = 0

  constructor(options: FileSourceOptions) {
    this.#options = options
  }

  get startedAt(): number {
    return this.#startedAt
  }

  async start(sink: AudioSink): Promise<AudioAddress> {
    const bytes = await readFile(this.#options.path)
    const samples = new Int16Array(bytes.length >> 1)
    for (let at = 0; at < samples.length; at++) samples[at] = bytes.readInt16LE(at * 2)
    this.#startedAt = performance.now()
    void this.#play(samples, sink).catch((error: Error) => sink.ended(error))
    return {}
  }

  close(): Promise<void> {
    this.#closing.abort()
    return Promise.resolve()
  }

  async #play(samples: Int16Array, sink: AudioSink): Promise<void> {
    const { open = [{ from: 0, to: samples.length / SAMPLE_RATE }] } = this.#options
    const begin = this.#startedAt
    for (const { from, to } of open) {
      const end = Math.min(to * SAMPLE_RATE, samples.length)
      for (let at = Math.round(from * SAMPLE_RATE); at < end; at += FRAME) {
        await this.#due(begin, at, sink)
        if (this.#closing.signal.aborted) return
        sink.frame(at, samples.slice(at, Math.min(at + FRAME, end)))
      }
      sink.utteranceEnd(end)
    }
    sink.ended()
  }

  async #due(begin: number, at: number, sink: AudioSink): Promise<void> {
    const { pace } = this.#options
    if (pace === undefined) return sink.drained()
    const waitMs = begin + (at / SAMPLE_RATE / pace) * 1_000 - performance.now()
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}
