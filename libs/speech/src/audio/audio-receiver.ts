import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { AudioSink, AudioSource } from '../engines/audio-source.js'
import type { AudioFormat } from './audio-format.js'
import { type AudioCounters, AudioPipeline } from './audio-pipeline.js'
import { StallClock } from './stall-clock.js'

const LOOPBACK = '127.0.0.1'

const clock = new StallClock()

/**
 * Receives the RTP of one stream on a UDP socket of its own on loopback: the kernel separates the streams, and limits what
 * one of them may queue. RTCP may be sent to the same port. Memory is bounded; the sink limits its own queue.
 */
export class AudioReceiver implements AudioSource {
  readonly #socket: Socket = createSocket('udp4')
  readonly #format: AudioFormat
  readonly #onTick = (isTimely: boolean): void => this.#pipeline?.tick(this.#now(), isTimely)
  #pipeline: AudioPipeline | undefined
  #counters: AudioCounters | undefined
  #startedAt = 0
  #closed: Promise<void> | undefined

  constructor(format: AudioFormat) {
    this.#format = format
  }

  /** The time of position 0 on the clock of `performance.now()`. */
  get startedAt(): number {
    return this.#startedAt
  }

  /** Undefined before the start; the last ones after the end. */
  get counters(): AudioCounters | undefined {
    return this.#pipeline?.counters ?? this.#counters
  }

  async start(sink: AudioSink): Promise<{ ip: string; port: number }> {
    this.#socket.bind(0, LOOPBACK)
    await once(this.#socket, 'listening')
    const pipeline = (this.#pipeline = new AudioPipeline(this.#format, sink))
    this.#startedAt = performance.now()
    this.#socket.on('message', (packet) => pipeline.packet(packet, this.#now(), clock.isTimely))
    this.#socket.on('error', (error) => {
      if (!this.#pipeline) return
      this.#stop()
      sink.ended(error)
    })
    clock.add(this.#onTick)
    return { ip: LOOPBACK, port: this.#socket.address().port }
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#stop()
    const closed = once(this.#socket, 'close')
    this.#socket.close()
    await closed
  }

  #stop(): void {
    clock.delete(this.#onTick)
    this.#socket.removeAllListeners('message')
    this.#counters = this.#pipeline?.counters
    this.#pipeline?.close()
    this.#pipeline = undefined
  }

  #now(): number {
    return performance.now() - this.#startedAt
  }
}
