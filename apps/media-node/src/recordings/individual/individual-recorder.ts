import { setTimeout as pause } from 'node:timers/promises'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import type { types } from 'mediasoup'
import { Ordered } from '../../rooms/ordered.js'
import type { RoomObserver } from '../../rooms/room.js'
import type { Stream } from '../../rooms/stream.js'
import type { Recorder, RecorderContext, RecorderFactory } from '../recorder/recorder.js'
import { StreamFile } from './stream-file.js'
import { wantedTracks } from './wanted-tracks.js'

/** A stream that has sent nothing for so long has failed. */
const SILENT_MS = 10_000
/** One that sends, but nothing that a file can begin with, gets this long. */
const NO_FILE_MS = 20_000
const LOOK_MS = 25

export const createIndividualRecorder: RecorderFactory = (context) => new IndividualRecorder(context)

/** A file for each stream of the room, made by a program of its own without a change to what is sent. */
class IndividualRecorder implements Recorder, RoomObserver {
  readonly #files = new Map<Stream, StreamFile>()
  readonly #finished: RecordedFile[] = []
  /** How many files each stream has had. */
  readonly #counts = new Map<string, number>()
  readonly #ordered = new Ordered()
  readonly #tasks = new Set<Promise<void>>()
  #unobserve: () => void = () => undefined
  #closing = false
  #stopped: Promise<RecordedFile[]> | undefined

  constructor(private readonly context: RecorderContext) {}

  async start(): Promise<number> {
    const { room } = this.context
    if (room.closed) throw new ServiceError('NOT_FOUND', `room ${room.id} is closed`, { subject: 'session' })
    this.#unobserve = room.observe(this)
    const streams = [...room.streams.values()]
    await Promise.all(streams.map((stream) => this.#follow(stream)))
    await this.#untilWriting(streams)
    return this.#earliest()
  }

  stop(): Promise<RecordedFile[]> {
    return (this.#stopped ??= this.#stop())
  }

  published(stream: Stream): void {
    this.#followAside(stream)
  }

  changed(stream: Stream): void {
    this.#followAside(stream)
  }

  unpublished(stream: Stream): void {
    this.#followAside(stream)
  }

  closed(): void {
    this.context.onEnded('the session left the media node')
  }

  async #stop(): Promise<RecordedFile[]> {
    this.#closing = true
    this.#unobserve()
    const failures: unknown[] = []
    // Again: a file that was being opened is there only once its task has ended.
    while (this.#files.size > 0 || this.#tasks.size > 0) {
      const closing = [...this.#files.keys()].map((stream) => this.#follow(stream))
      for (const result of await Promise.allSettled(closing))
        if (result.status === 'rejected') failures.push(result.reason)
      await Promise.all(this.#tasks)
    }
    if (failures.length > 0) throw failures[0]
    return this.#finished
  }

  /** What has not started by now starts later. */
  #earliest(): number {
    const files = [...this.#finished, ...this.#files.values()]
    return Math.min(this.context.clock.now(), ...files.flatMap(({ startedAt }) => startedAt ?? []))
  }

  #followAside(stream: Stream): void {
    void this.#follow(stream).catch((error: unknown) => {
      if (!this.#closing) this.context.onEnded(error instanceof Error ? error.message : String(error))
    })
  }

  /** Makes the stream's file what it should be now; one step of a stream after the other. */
  #follow(stream: Stream): Promise<void> {
    const task = this.#ordered.run(stream.id, () => this.#step(stream))
    const settled = task.catch(() => undefined).finally(() => this.#tasks.delete(settled))
    this.#tasks.add(settled)
    return task
  }

  async #step(stream: Stream): Promise<void> {
    const { current, wanted } = this.#situation(stream)
    if (current && wanted.keep(current.kinds)) return
    if (current) await this.#close(stream, current)
    // That took a while: it may be another's turn by now, or nobody's.
    const { kinds } = this.#situation(stream).wanted
    if (kinds.length > 0) await this.#open(stream, kinds)
  }

  #situation(stream: Stream): { current: StreamFile | undefined; wanted: ReturnType<typeof wantedTracks> } {
    const { job, room } = this.context
    const isThere = !this.#closing && room.streams.get(stream.id) === stream
    const tracks = stream.sources.map(({ kind, paused }) => ({ kind, paused }))
    const isWanted = isThere && stream.peer.about.record
    return { current: this.#files.get(stream), wanted: wantedTracks(isWanted ? tracks : [], job) }
  }

  async #open(stream: Stream, kinds: readonly types.MediaKind[]): Promise<void> {
    const { folder, clock } = this.context
    const count = this.#counts.get(stream.id) ?? 0
    this.#counts.set(stream.id, count + 1)
    const name = count === 0 ? stream.id : `${stream.id}-${count}`
    const onFailed = (failure: string): void => this.context.onEnded(`the recording of stream ${stream.id}: ${failure}`)
    try {
      const file = await StreamFile.open({ stream, kinds, folder, clock, name, onFailed })
      this.#files.set(stream, file)
      this.#tell()
    } catch (error) {
      // The stream went meanwhile: there is nothing to be missed.
      if (this.#situation(stream).wanted.kinds.length > 0) throw error
    }
  }

  async #close(stream: Stream, file: StreamFile): Promise<void> {
    this.#files.delete(stream)
    const recorded = await file.close()
    if (recorded) this.#finished.push(recorded)
    this.#tell()
  }

  #tell(): void {
    this.context.onFiles?.([...this.#finished, ...[...this.#files.values()].map(({ described }) => described)])
  }

  /** Until each of the streams is in its file, or the first one if those that fail may be ignored. */
  async #untilWriting(streams: readonly Stream[]): Promise<void> {
    const { output } = this.context.job
    const mayFail = output.kind === 'INDIVIDUAL' && output.ignoreFailedStreams
    const begun = performance.now()
    while (!this.#closing) {
      const missing = await this.#withoutBytes(streams)
      const isThere = [...this.#files.values()].length > missing.length
      if (missing.length === 0 || (mayFail && isThere)) break
      const waited = performance.now() - begun
      const failed = waited > NO_FILE_MS ? missing : waited > SILENT_MS ? await silentOf(missing) : []
      if (failed.length > 0 && !mayFail) throw nothingFrom(failed.map(({ stream }) => stream))
      if (failed.length === missing.length) break
      await pause(LOOK_MS)
    }
    this.#tell()
  }

  async #withoutBytes(streams: readonly Stream[]): Promise<Missing[]> {
    const missing: Missing[] = []
    for (const stream of streams) {
      const file = this.#files.get(stream)
      if (file && !(await file.hasBytes())) missing.push({ stream, file })
    }
    return missing
  }
}

interface Missing {
  stream: Stream
  file: StreamFile
}

async function silentOf(missing: readonly Missing[]): Promise<Missing[]> {
  const sending = await Promise.all(missing.map(({ file }) => file.isSending()))
  return missing.filter((_, at) => !sending[at])
}

const nothingFrom = (streams: readonly Stream[]): ServiceError =>
  new ServiceError(
    'LAUNCH_FAILED',
    `nothing came from ${streams.length === 1 ? 'stream' : 'streams'} ${streams.map(({ id }) => id).join(', ')}`,
  )
