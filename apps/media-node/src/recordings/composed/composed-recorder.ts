import { Logger } from '@nestjs/common'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { markHandled } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import { Supervisor } from '../supervision/supervisor.js'
import { closedRoom } from '../recorder/closed-room.js'
import { cutEnd } from '../recorder/cut-end.js'
import type { Recorder, RecorderContext, RecorderFactory } from '../recorder/recorder.js'
import { requireCompositor } from '../../native-program/programs.js'
import { Compositor, type CompositorEvent } from './compositor.js'
import { DisplayNames } from './display-name.js'
import { ComposedStream } from './composed-stream.js'
import { Scene } from './scene.js'
import { openCommand, settingsOf } from './settings.js'
import { RETRY_MS, START_TIMEOUT_MS, SUCCESSION_MS } from './timing.js'

const logger = new Logger('Recording')

/** Records a room into one file with a composed picture and mixed audio. */
export const createComposedRecorder: RecorderFactory = (context) => new ComposedRecorder(context, requireCompositor())

class ComposedRecorder implements Recorder {
  readonly #compositor: Compositor
  readonly #scene: Scene | undefined
  readonly #streams = new Map<Stream, ComposedStream>()
  /** The replaced media of streams, which are shown from their first picture on, or without one after a while. */
  readonly #successors = new Map<Stream, ComposedStream>()
  /** Resolves with the start of the file. */
  readonly #writing = Promise.withResolvers<number>()
  readonly #file: string
  readonly #kinds: readonly types.MediaKind[]
  #unobserve = (): void => undefined
  #retryTimer: NodeJS.Timeout | undefined
  #supervisor: Supervisor | undefined
  #nextId = 1
  readonly #names = new DisplayNames()
  #startedAt: number | undefined
  #endedAt: number | undefined
  #stopping: Promise<RecordedFile[]> | undefined
  #isEndReported = false

  constructor(
    private readonly context: RecorderContext,
    program: string,
  ) {
    const { job, folder } = context
    const settings = settingsOf(job)
    this.#file = settings.file
    this.#kinds = settings.kinds
    this.#compositor = new Compositor(program, (event) => this.#handle(event))
    this.#scene = job.hasVideo ? new Scene(settings.layout, settings.size, this.#compositor) : undefined
    this.#compositor.send('start', ...openCommand(settings, join(folder, this.#file)))
    void this.#compositor.exited.then((failure) => this.#exited(failure))
    markHandled(this.#writing.promise)
  }

  async start(): Promise<number> {
    const { room } = this.context
    if (room.closed) this.#writing.reject(closedRoom(room))
    this.#unobserve = room.observe({
      published: (stream) => this.#enter(stream),
      unpublished: (stream) => this.#leave(stream),
      changed: (stream) => this.#changed(stream),
      mediaReplaced: (stream) => this.#mediaReplaced(stream),
      closed: () => this.#end(),
    })
    for (const stream of room.streams.values()) this.#enter(stream)
    this.#retryTimer = setInterval(() => this.#retry(), RETRY_MS)
    const late = setTimeout(() => this.#fail(`nothing was written within ${START_TIMEOUT_MS} ms`), START_TIMEOUT_MS)
    try {
      return await this.#writing.promise
    } catch (error) {
      await this.#compositor.kill()
      await this.stop()
      throw error
    } finally {
      clearTimeout(late)
    }
  }

  stop(): Promise<RecordedFile[]> {
    this.#stopping ??= this.#stop()
    return this.#stopping
  }

  async #stop(): Promise<RecordedFile[]> {
    this.#isEndReported = true
    this.#unobserve()
    clearInterval(this.#retryTimer)
    this.#endedAt ??= this.context.clock.now()
    const { signal } = await this.#compositor.stop()
    for (const composed of this.#all) composed.close({ isRemoved: true })
    this.#streams.clear()
    this.#successors.clear()
    this.#fail('the recording was stopped before it began')
    return this.#files(signal !== null)
  }

  async #files(isCut: boolean): Promise<RecordedFile[]> {
    const found = await stat(join(this.context.folder, this.#file)).catch(() => undefined)
    if (!found?.size || this.#startedAt === undefined || this.#endedAt === undefined) return []
    const times = { startedAt: this.#startedAt, endedAt: this.#endedAt }
    const endedAt = isCut ? cutEnd(times, found.mtimeMs, this.context.clock) : times.endedAt
    return [this.#described(found.size, times.startedAt, endedAt)]
  }

  #described(size: number, startedAt: number, endedAt: number): RecordedFile {
    const { hasAudio, hasVideo } = this.context.job
    return { name: this.#file, size, hasAudio, hasVideo, startedAt, endedAt }
  }

  #handle(event: CompositorEvent): void {
    if (event.event === 'writing') {
      this.#startedAt = this.context.clock.now() - event.sinceStartMs
      this.context.onFiles?.([this.#described(0, this.#startedAt, this.#startedAt)])
      this.#writing.resolve(this.#startedAt)
      this.#supervise()
    }
    if (event.event === 'error') this.#warn(event.message)
    if (!('id' in event) || event.id === undefined) return
    const composed = this.#all.find(({ id }) => id === event.id)
    if (!composed) return
    const isSuccessor = this.#successors.get(composed.stream) === composed
    if (event.event === 'refused') {
      if (isSuccessor) this.#succeed(composed)
      return this.#openWithout(composed, event.kind)
    }
    if (composed.handle(event)) return isSuccessor ? this.#succeed(composed) : this.#arrange()
    if (event.event === 'size') this.#arrange()
  }

  /** The compositor writes a fragment each second, also without media: it generates background and silence. */
  #supervise(): void {
    const path = join(this.context.folder, this.#file)
    this.#supervisor = new Supervisor({
      program: 'compositor',
      sample: async () => ({ output: (await stat(path)).size }),
      onStalled: (why) => this.#compositor.killStalled(why),
    })
  }

  #warn(problem: string): void {
    const { recordingId, part } = this.context.job
    logger.warn({ recordingId, part, problem }, 'the compositor reported an error')
  }

  /** `#retry` opens the stream again, without the kind that the compositor does not decode. */
  #openWithout(composed: ComposedStream, refused: types.MediaKind): void {
    composed.close()
    const kinds = composed.kinds.filter((kind) => kind !== refused)
    this.#streams.set(composed.stream, this.#composedStream(composed.stream, composed.name, kinds))
    this.#arrange()
  }

  #enter(stream: Stream): void {
    // A stream without audio in a recording of audio only.
    if (!this.#scene && !stream.track('audio')) return
    const composed = this.#composedStream(stream, this.#names.of(stream.publisher))
    this.#streams.set(stream, composed)
    void composed.open()
    this.#arrange()
  }

  #composedStream(stream: Stream, name: string, kinds = this.#kinds): ComposedStream {
    return new ComposedStream(String(this.#nextId++), name, stream, kinds, this.#compositor)
  }

  /** The former media stays until the first picture of the new one, but not for long. */
  #mediaReplaced(stream: Stream): void {
    const current = this.#streams.get(stream)
    if (!current) return
    this.#successors.get(stream)?.close()
    this.#successors.delete(stream)
    if (!current.isReplaced) return
    const successor = this.#composedStream(stream, current.name, current.kinds)
    this.#successors.set(stream, successor)
    void successor.open({ videoOnly: true })
    if (!current.showsPicture) this.#succeed(successor)
  }

  #succeed(successor: ComposedStream): void {
    const { stream } = successor
    const former = this.#streams.get(stream)
    this.#successors.delete(stream)
    this.#streams.set(stream, successor)
    this.#arrange()
    former?.close()
    successor.startAudio().catch(() => undefined)
  }

  #leave(stream: Stream): void {
    for (const streams of [this.#streams, this.#successors]) {
      streams.get(stream)?.close()
      streams.delete(stream)
    }
    this.#arrange()
  }

  #changed(stream: Stream): void {
    const successor = this.#successors.get(stream)
    // A muted stream has no next picture.
    if (successor && stream.track('video')?.paused) this.#succeed(successor)
    this.#streams.get(stream)?.changed()
    this.#arrange()
  }

  #arrange(): void {
    this.#scene?.arrange([...this.#streams.values()])
  }

  #retry(): void {
    const latest = performance.now() - SUCCESSION_MS
    for (const successor of this.#successors.values()) if (successor.createdAt < latest) this.#succeed(successor)
    for (const composed of this.#all) void composed.retry()
  }

  get #all(): ComposedStream[] {
    return [...this.#streams.values(), ...this.#successors.values()]
  }

  #exited(failure: string | undefined): void {
    this.#supervisor?.stop()
    this.#endedAt ??= this.context.clock.now()
    this.#fail(failure ?? 'the compositor exited unexpectedly')
    this.#end(failure ?? 'the compositor exited unexpectedly')
  }

  #fail(message: string): void {
    this.#writing.reject(new ServiceError('LAUNCH_FAILED', message))
  }

  #end(failure?: string): void {
    this.#endedAt ??= this.context.clock.now()
    if (this.#isEndReported) return
    this.#isEndReported = true
    this.context.onEnded(failure)
  }
}
