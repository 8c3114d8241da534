import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import type { AudioSink, AudioSource } from '../engines/audio-source.js'
import { type AudioCounters, type AudioFormat, AudioPipeline } from './audio-pipeline.js'
import { StallClock } from './stall-clock.js'

const clock = new StallClock()

/**
 * Receives the RTP of one stream on a UDP socket of its own on loopback: the kernel separates the streams, and bounds what
 * one of them may queue. RTCP may be sent to the same port.
 */
export class AudioReceiver implements AudioSource {
  readonly #socket: Socket
  readonly #format: AudioFormat
  readonly #onTick = (isTimely: boolean): void => this.#pipeline?.tick(this.#now(), isTimely)
  #pipeline: AudioPipeline | undefined
  #startedAt = 0

  private constructor(socket: Socket, format: AudioFormat) {
    this.#socket = socket
    this.#format = format
  }

  /** Opens the socket; audio that arrives before `start` is dropped. */
  static async open(format: AudioFormat): Promise<AudioReceiver> {
    const socket = createSocket('udp4')
    try {
      socket.bind(0, '127.0.0.1')
      await once(socket, 'listening')
      return new AudioReceiver(socket, format)
    } catch (error) {
      socket.close()
      throw error
    }
  }

  /** The port for RTP and RTCP. */
  get port(): number {
    return this.#socket.address().port
  }

  /** When position 0 was, on the clock of `performance.now()`. */
  get startedAt(): number {
    return this.#startedAt
  }

  get counters(): AudioCounters | undefined {
    return this.#pipeline?.counters
  }

  start(sink: AudioSink): Promise<void> {
    const pipeline = new AudioPipeline(this.#format, sink)
    this.#pipeline = pipeline
    this.#startedAt = performance.now()
    this.#socket.on('message', (packet) => pipeline.packet(packet, this.#now(), clock.isTimely))
    this.#socket.once('error', (error) => {
      if (!this.#pipeline) return
      this.#stop()
      sink.ended(error)
    })
    clock.add(this.#onTick)
    return Promise.resolve()
  }

  async close(): Promise<void> {
    if (this.#pipeline) this.#stop()
    await new Promise<void>((resolve) => this.#socket.close(() => resolve()))
  }

  #stop(): void {
    clock.delete(this.#onTick)
    this.#socket.removeAllListeners('message')
    this.#pipeline?.close()
    this.#pipeline = undefined
  }

  #now(): number {
    return performance.now() - this.#startedAt
  }
}
