import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Logger } from '@nestjs/common'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import { withTimeout } from '@session-service/server-kit'
import type { Stream } from '../../rooms/stream.js'
import { requireCompositor } from '../../native-program/programs.js'
import { DisplayNames } from '../composed/display-name.js'
import { settingsOf, type CompositionSettings } from '../composed/settings.js'
import { RETRY_MS, START_TIMEOUT_MS, SUCCESSION_MS } from '../composed/timing.js'
import { closedRoom } from '../recorder/closed-room.js'
import { PACKETS_FILE } from '../recorder/deferred.js'
import type { Recorder, RecorderContext, RecorderFactory } from '../recorder/recorder.js'
import { Supervisor } from '../supervision/supervisor.js'
import { PacketRecorder } from './packet-recorder.js'
import { RecordedStream } from './recorded-stream.js'
import { TIMELINE_VERSION, TimelineWriter, type TimelineEntry } from './timeline.js'

const logger = new Logger('Recording')

/** An entry without its time, of each kind. */
type Happening<E = TimelineEntry> = E extends TimelineEntry ? Omit<E, 'at'> : never

/** Records what a composition needs, without decoding. */
export const createDeferredRecorder: RecorderFactory = (context) => new DeferredRecorder(context, requireCompositor())

/** A recorder without files of its own: a composition makes one of its log and its timeline. */
class DeferredRecorder implements Recorder {
  readonly #settings: CompositionSettings
  readonly #packets: PacketRecorder
  readonly #path: string
  readonly #streams = new Map<Stream, RecordedStream>()
  /** Sources whose successors have no picture yet. */
  readonly #former = new Map<Stream, RecordedStream>()
  readonly #names = new DisplayNames()
  #nextSource = 1
  #startedUs = 0
  #timeline: TimelineWriter | undefined
  #supervisor: Supervisor | undefined
  #retryTimer: NodeJS.Timeout | undefined
  #unobserve = (): void => undefined
  #stopping: Promise<RecordedFile[]> | undefined
  #isEndReported = false

  constructor(
    private readonly context: RecorderContext,
    program: string,
  ) {
    this.#settings = settingsOf(context.job)
    this.#path = join(context.folder, PACKETS_FILE)
    this.#packets = new PacketRecorder(program, this.#path, (problem) => this.#warn(problem))
    void this.#packets.exited.then((failure) => this.#end(failure ?? 'the recorder of packets exited unexpectedly'))
  }

  async start(): Promise<number> {
    const { room, folder, clock } = this.context
    try {
      if (room.closed) throw closedRoom(room)
      this.#startedUs = await withTimeout(this.#packets.started, START_TIMEOUT_MS, 'starting the recorder of packets')
      this.#timeline = await TimelineWriter.create(folder, (error) =>
        this.#end(`writing the timeline failed: ${String(error)}`),
      )
    } catch (error) {
      await this.stop()
      throw error instanceof ServiceError ? error : new ServiceError('LAUNCH_FAILED', String(error), { cause: error })
    }
    const startedAt = Math.round(clock.now() - this.#elapsedMs())
    this.#timeline.write({ event: 'began', at: 0, version: TIMELINE_VERSION, startedAt })
    this.#follow()
    return startedAt
  }

  stop(): Promise<RecordedFile[]> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  #follow(): void {
    const { room } = this.context
    this.#unobserve = room.observe({
      published: (stream) => this.#enter(stream),
      unpublished: (stream) => this.#leave(stream),
      changed: (stream) => this.#changed(stream),
      mediaReplaced: (stream) => this.#mediaReplaced(stream),
      closed: () => this.#end(),
    })
    for (const stream of room.streams.values()) this.#enter(stream)
    this.#retryTimer = setInterval(() => this.#retry(), RETRY_MS)
    // It writes an entry each second, also without packets.
    this.#supervisor = new Supervisor({
      program: 'packet_recorder',
      sample: async () => ({ output: (await stat(this.#path)).size }),
      onStalled: (why) => this.#packets.kill(why),
    })
  }

  async #stop(): Promise<RecordedFile[]> {
    this.#isEndReported = true
    this.#unobserve()
    clearInterval(this.#retryTimer)
    this.#supervisor?.stop()
    if (this.#timeline) this.#note({ event: 'ended' })
    await this.#packets.stop()
    for (const recorded of this.#all) recorded.close()
    this.#streams.clear()
    this.#former.clear()
    await this.#timeline?.close()
    return []
  }

  #enter(stream: Stream): void {
    // A stream without audio in a recording of audio only.
    if (!this.context.job.hasVideo && !stream.track('audio')) return
    const recorded = this.#recordedStream(stream)
    const { source, isActive } = recorded
    const name = this.#names.of(stream.publisher)
    this.#note({ event: 'published', source, name, isScreen: stream.typeOfVideo === 'SCREEN', isActive })
    void recorded.open()
  }

  #recordedStream(stream: Stream): RecordedStream {
    const source = this.#nextSource++
    const recorded = new RecordedStream({
      source,
      stream,
      kinds: this.#settings.kinds,
      recorder: this.#packets,
      onAdded: ({ codec, video, audio }) => this.#noteAdded(source, codec, video, audio),
      onReady: () => this.#closeFormer(stream, recorded),
    })
    this.#streams.set(stream, recorded)
    return recorded
  }

  #noteAdded(source: number, codec: string, video: number, audio: number): void {
    if (codec === 'VP8' || codec === 'VP9' || codec === 'H264')
      this.#note({ event: 'added', source, codec, video, audio })
  }

  #changed(stream: Stream): void {
    const recorded = this.#streams.get(stream)
    if (!recorded) return
    this.#note({ event: 'changed', source: recorded.source, isActive: recorded.isActive })
    void recorded.changed()
    if (!recorded.isActive) this.#closeFormer(stream, recorded)
  }

  /** The former media stays until the first picture of the new one, but not for long. */
  #mediaReplaced(stream: Stream): void {
    const current = this.#streams.get(stream)
    if (!current?.isReplaced) return
    this.#former.get(stream)?.close()
    this.#former.set(stream, current)
    const successor = this.#recordedStream(stream)
    this.#note({ event: 'replaced', source: current.source, by: successor.source })
    void successor.open()
  }

  #closeFormer(stream: Stream, successor: RecordedStream): void {
    if (this.#streams.get(stream) !== successor) return
    this.#former.get(stream)?.close()
    this.#former.delete(stream)
  }

  #leave(stream: Stream): void {
    const recorded = this.#streams.get(stream)
    if (!recorded) return
    this.#note({ event: 'unpublished', source: recorded.source })
    this.#former.get(stream)?.close()
    this.#former.delete(stream)
    recorded.close()
    this.#streams.delete(stream)
  }

  #retry(): void {
    const latest = performance.now() - SUCCESSION_MS
    for (const stream of this.#former.keys()) this.#succeedWithoutPicture(stream, latest)
    for (const recorded of this.#all) void recorded.retry()
  }

  /** Composes a successor without a picture as if it had been muted: it is heard, and shown from its first picture on. */
  #succeedWithoutPicture(stream: Stream, latest: number): void {
    const successor = this.#streams.get(stream)
    if (!successor || successor.createdAt > latest) return
    const { source, isActive } = successor
    this.#note({ event: 'changed', source, isActive: false })
    if (isActive) this.#note({ event: 'changed', source, isActive })
    this.#closeFormer(stream, successor)
  }

  get #all(): RecordedStream[] {
    return [...this.#streams.values(), ...this.#former.values()]
  }

  #note(happening: Happening): void {
    this.#timeline?.write({ ...happening, at: this.#elapsedMs() })
  }

  /** Both clocks are CLOCK_MONOTONIC. */
  #elapsedMs(): number {
    return Math.max(0, Number(process.hrtime.bigint() / 1_000n) - this.#startedUs) / 1_000
  }

  #warn(problem: string): void {
    const { recordingId, part } = this.context.job
    logger.warn({ recordingId, part, problem }, 'the recorder of packets reported an error')
  }

  #end(failure?: string): void {
    this.#supervisor?.stop()
    if (this.#isEndReported) return
    this.#isEndReported = true
    this.context.onEnded(failure)
  }
}
