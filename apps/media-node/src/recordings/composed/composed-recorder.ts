import { Logger } from '@nestjs/common'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import { Supervisor } from '../supervision/supervisor.js'
import { cutEnd } from '../recorder/cut-end.js'
import type { Recorder, RecorderContext, RecorderFactory } from '../recorder/recorder.js'
import { Compositor, type CompositorEvent } from './compositor.js'
import { displayName } from './display-name.js'
import { Member } from './composed-stream.js'
import { AUDIO_KBPS, videoKbps } from './quality.js'
import { Stage } from './scene.js'

/** How long packets may come late: jitter of the network is gone by here, loopback has little. */
const LATENCY_MS = 200
const START_MS = 15_000
const REMIND_MS = 1_000

const logger = new Logger('Recording')

/** Records a room as one picture and one sound. */
export const createComposedRecorder: RecorderFactory = (context) => {
  const program = process.env.COMPOSITOR_BIN
  if (program) return new ComposedRecorder(context, program)
  throw new ServiceError('DISABLED', 'the media node has no compositor: COMPOSITOR_BIN names none')
}

class ComposedRecorder implements Recorder {
  readonly #compositor: Compositor
  readonly #stage: Stage | undefined
  readonly #members = new Map<Stream, Member>()
  /** The time of the file's beginning. */
  readonly #writing = Promise.withResolvers<number>()
  readonly #file: string
  readonly #kinds: readonly types.MediaKind[]
  #unobserve = (): void => undefined
  #reminder: NodeJS.Timeout | undefined
  #supervisor: Supervisor | undefined
  #nextId = 1
  /** Who came as which. */
  readonly #numbers = new Map<string, number>()
  #startedAt: number | undefined
  #endedAt: number | undefined
  #stopping: Promise<RecordedFile[]> | undefined
  #endTold = false

  constructor(
    private readonly context: RecorderContext,
    program: string,
  ) {
    const { job, folder } = context
    const { output } = job
    if (output.kind !== 'COMPOSED') throw new ServiceError('INVALID', `output: ${output.kind} is not composed here`)
    this.#file = job.hasVideo ? 'composed.mp4' : 'composed.webm'
    this.#kinds = [...(job.hasAudio ? (['audio'] as const) : []), ...(job.hasVideo ? (['video'] as const) : [])]
    // Of colour there is one value for two pixels, so a side that is odd can not be encoded: its last line goes.
    const size = { width: output.width & ~1, height: output.height & ~1 }
    this.#compositor = new Compositor(program, (event) => this.#hear(event))
    this.#stage = job.hasVideo ? new Stage(output.layout, size, this.#compositor) : undefined
    const kbps = videoKbps(size, output.frameRate)
    const kinds = [Number(job.hasVideo), Number(job.hasAudio)]
    const file = join(folder, this.#file)
    this.#compositor.tell(
      'start',
      size.width,
      size.height,
      output.frameRate,
      ...kinds,
      kbps,
      AUDIO_KBPS,
      LATENCY_MS,
      file,
    )
    void this.#compositor.exited.then((failure) => this.#exited(failure))
    this.#writing.promise.catch(() => undefined)
  }

  async start(): Promise<number> {
    const { room } = this.context
    if (room.closed) this.#fail('NOT_FOUND', 'the session has no media here any more')
    this.#unobserve = room.observe({
      published: (stream) => this.#enter(stream),
      unpublished: (stream) => this.#leave(stream),
      changed: (stream) => this.#changed(stream),
      closed: () => this.#end(),
    })
    for (const stream of room.streams.values()) this.#enter(stream)
    this.#reminder = setInterval(() => this.#remind(), REMIND_MS)
    const late = setTimeout(() => this.#fail('LAUNCH_FAILED', `nothing was written within ${START_MS} ms`), START_MS)
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
    this.#endTold = true
    this.#unobserve()
    clearInterval(this.#reminder)
    this.#endedAt ??= this.context.clock.now()
    const { signal } = await this.#compositor.stop()
    for (const member of this.#members.values()) member.close({ isHeard: true })
    this.#members.clear()
    this.#fail('LAUNCH_FAILED', 'the recording was stopped before it began')
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

  #hear(event: CompositorEvent): void {
    if (event.event === 'writing') {
      this.#startedAt = this.context.clock.now() - event.sinceStartMs
      this.context.onFiles?.([this.#described(0, this.#startedAt, this.#startedAt)])
      this.#writing.resolve(this.#startedAt)
      this.#supervise()
    }
    if (event.event === 'error') this.#warn(event.message)
    if (!('id' in event) || event.id === undefined) return
    const member = [...this.#members.values()].find(({ id }) => id === event.id)
    if (!member) return
    if (event.event === 'removed') return this.#replace(member)
    if (event.event === 'refused') return this.#replace(member, event.kind)
    if (member.heard(event)) this.#arrange()
    else if (event.event === 'size') this.#arrange()
  }

  /** The program writes a fragment each second whether media arrives or not: background and silence are its own. */
  #supervise(): void {
    const path = join(this.context.folder, this.#file)
    this.#supervisor = new Supervisor({
      program: 'compositor',
      look: async () => ({ output: (await stat(path)).size }),
      onStalled: (why) => this.#compositor.killStalled(why),
    })
  }

  #warn(problem: string): void {
    const { recordingId, part } = this.context.job
    logger.warn({ recordingId, part, problem }, 'the compositor complains')
  }

  /** The compositor gave a stream up that is still published: it is tried anew, with the next reminder. */
  #replace(member: Member, refused?: types.MediaKind): void {
    member.close({ isHeard: true })
    const kinds = member.kinds.filter((kind) => kind !== refused)
    this.#members.set(member.stream, this.#member(member.stream, member.name, kinds))
    this.#arrange()
  }

  #enter(stream: Stream): void {
    // Without anything that is recorded: one who only shows, where only is listened.
    if (!this.#stage && !stream.source('audio')) return
    const { connectionId, about } = stream.peer
    const number = this.#numbers.get(connectionId) ?? this.#numbers.size + 1
    this.#numbers.set(connectionId, number)
    const member = this.#member(stream, displayName(about.clientData, number))
    this.#members.set(stream, member)
    void member.open()
    this.#arrange()
  }

  #member(stream: Stream, name: string, kinds = this.#kinds): Member {
    return new Member(String(this.#nextId++), name, stream, kinds, this.#compositor)
  }

  #leave(stream: Stream): void {
    this.#members.get(stream)?.close()
    this.#members.delete(stream)
    this.#arrange()
  }

  #changed(stream: Stream): void {
    this.#members.get(stream)?.changed()
    this.#arrange()
  }

  #arrange(): void {
    this.#stage?.arrange([...this.#members.values()])
  }

  #remind(): void {
    for (const member of this.#members.values()) void member.remind()
  }

  #exited(failure: string | undefined): void {
    this.#supervisor?.stop()
    this.#endedAt ??= this.context.clock.now()
    this.#fail('LAUNCH_FAILED', failure ?? 'the compositor ended by itself')
    this.#end(failure ?? 'the compositor ended by itself')
  }

  #fail(code: 'NOT_FOUND' | 'LAUNCH_FAILED', message: string): void {
    this.#writing.reject(new ServiceError(code, message))
  }

  #end(failure?: string): void {
    this.#endedAt ??= this.context.clock.now()
    if (this.#endTold) return
    this.#endTold = true
    this.context.onEnded(failure)
  }
}
