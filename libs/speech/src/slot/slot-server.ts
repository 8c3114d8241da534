import { messageOf } from '@session-service/server-kit/async'
import { OpusDecoder } from '../audio/opus-decoder.js'
import type { AudioSource } from '../engines/audio-source.js'
import type { SpeechEngine, SpeechModel } from '../engines/engine.js'
import { SherpaEngine } from '../engines/sherpa/sherpa-engine.js'
import { VoskEngine } from '../engines/vosk/vosk-engine.js'
import { toMachineTime } from './machine-clock.js'
import { Recognition } from './recognition.js'
import { SpeakerStream } from './speaker-stream.js'
import type { EngineOptions, SlotCommand, SlotEvent, SlotUsage, SourceOptions } from './slot-protocol.js'

interface OpenStream {
  recognition: Recognition
  source: AudioSource
}

/** Serves the streams of one model within the process of a slot. */
export class SlotServer {
  readonly #send: (event: SlotEvent) => void
  readonly #openSource: (options: SourceOptions) => AudioSource
  /** Undefined while a stream is being opened. */
  readonly #streams = new Map<string, OpenStream | undefined>()
  /** Streams that were closed while they were being opened. */
  readonly #abandoned = new Set<string>()
  #model: SpeechModel | undefined
  #droppedBefore = 0

  constructor(send: (event: SlotEvent) => void, openSource: (options: SourceOptions) => AudioSource) {
    this.#send = send
    this.#openSource = openSource
  }

  async handle(command: SlotCommand): Promise<void> {
    if (command.type === 'load') await this.#load(command)
    else if (command.type === 'open') await this.#open(command.stream, command.source)
    else await this.#close(command.stream, command.finish)
  }

  get usage(): SlotUsage {
    const { user, system } = process.cpuUsage()
    const dropped = [...this.#streams.values()].reduce((sum, each) => sum + (each?.recognition.droppedSeconds ?? 0), 0)
    return {
      memory: process.memoryUsage.rss(),
      cpu: (user + system) / 1e6,
      streams: this.#streams.size,
      dropped: this.#droppedBefore + dropped,
    }
  }

  async #load({ engine, folder, language, heartbeatMs }: Extract<SlotCommand, { type: 'load' }>): Promise<void> {
    const beat = (): void => this.#send({ type: 'heartbeat', usage: this.usage })
    beat()
    setInterval(beat, heartbeatMs)
    try {
      // A missing libopus must not be found out by the first stream.
      new OpusDecoder().close()
      this.#model = await newEngine(engine).load(folder, language)
    } catch (error) {
      return this.#send({ type: 'load-failed', message: messageOf(error) })
    }
    beat()
    this.#send({ type: 'loaded' })
  }

  async #open(stream: string, options: SourceOptions): Promise<void> {
    const fail = (error: unknown): void => this.#send({ type: 'open-failed', stream, message: messageOf(error) })
    if (!this.#model) return fail('no model is loaded')
    if (this.#streams.has(stream)) return fail('the stream is already open')
    this.#streams.set(stream, undefined)
    try {
      const source = this.#openSource(options)
      const recognition = new Recognition(new SpeakerStream(this.#model), {
        result: (result, utterance) => this.#send({ type: 'result', stream, utterance, result }),
        ended: (error) => void this.#ended(stream, error),
      })
      this.#streams.set(stream, { recognition, source })
      const address = await source.start(recognition)
      if (this.#abandoned.delete(stream)) return await this.#ended(stream)
      this.#send({ type: 'opened', stream, address, startedAt: toMachineTime(source.startedAt) })
    } catch (error) {
      this.#abandoned.delete(stream)
      await this.#remove(stream)
      fail(error)
    }
  }

  async #close(stream: string, finish: boolean): Promise<void> {
    const open = this.#streams.get(stream)
    if (!open) {
      if (this.#streams.has(stream)) this.#abandoned.add(stream)
      return
    }
    if (finish) {
      await open.source.close()
      open.recognition.ended()
    } else await this.#ended(stream)
  }

  async #ended(stream: string, error?: Error): Promise<void> {
    await this.#remove(stream)
    this.#send({ type: 'closed', stream, ...(error && { message: messageOf(error) }) })
  }

  async #remove(stream: string): Promise<void> {
    const open = this.#streams.get(stream)
    this.#streams.delete(stream)
    if (!open) return
    this.#droppedBefore += open.recognition.droppedSeconds
    await open.source.close()
    await open.recognition.close()
  }
}

const newEngine = (options: EngineOptions): SpeechEngine =>
  options.name === 'vosk' ? new VoskEngine(options) : new SherpaEngine()
