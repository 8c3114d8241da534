import { Logger } from '@nestjs/common'
import { ServiceError, type RecordedFile } from '@session-service/contract'
import type { types } from 'mediasoup'
import { backoffMs, KeyedMutex, messageOf, sleep } from '@session-service/server-kit'
import type { RoomObserver } from '../../rooms/room.js'
import type { Stream } from '../../rooms/stream.js'
import { closedRoom } from '../recorder/closed-room.js'
import type { Recorder, RecorderContext, RecorderFactory } from '../recorder/recorder.js'
import { StreamFile } from './stream-file.js'
import { wantedTracks } from './wanted-tracks.js'

/** A stream that has sent nothing for this long has failed. */
const SILENT_MS = 10_000
/** The limit for a stream that sends, but no key frame to begin a file with. */
const NO_FILE_MS = 20_000
const POLL_MS = 25
/** The pause before the next file of a stream whose program failed. The count of failures ends with a longer file. */
const FAILURE_BACKOFF = { firstMs: 2_000, longestMs: 30_000, jitter: false }

const logger = new Logger('Recording')

export const createIndividualRecorder: RecorderFactory = (context) => new IndividualRecorder(context)

/** Records each stream of the room into its own file, without transcoding. */
class IndividualRecorder implements Recorder, RoomObserver {
  readonly #files = new Map<Stream, StreamFile>()
  readonly #finished: RecordedFile[] = []
  /** The number of files of each stream so far. */
  readonly #counts = new Map<string, number>()
  readonly #steps = new KeyedMutex()
  readonly #pending = new Set<Promise<void>>()
  /** The number of failures in a row. */
  readonly #failures = new WeakMap<Stream, number>()
  /** Held also for streams without a file: a camera on the network is not read without a receiver. */
  readonly #receivers = new Map<Stream, () => void>()
  /** Streams that wait for their next attempt after a failure. */
  readonly #waiting = new Set<Stream>()
  /** Interrupts the next file of a stream, which waits for its first picture. */
  readonly #interrupts = new Map<Stream, () => void>()
  readonly #stopping = new AbortController()
  /** Whether the recording goes on without a stream that fails. */
  #mayFail: boolean
  #unobserve: () => void = () => undefined
  #closing = false
  #stopped: Promise<RecordedFile[]> | undefined

  constructor(private readonly context: RecorderContext) {
    const { output, continues = false } = context.job
    this.#mayFail = continues || (output.kind === 'INDIVIDUAL' && output.ignoreFailedStreams)
  }

  async start(): Promise<number> {
    const { room } = this.context
    if (room.closed) throw closedRoom(room)
    this.#unobserve = room.observe(this)
    await this.#begin([...room.streams.values()])
    this.#mayFail = true
    return this.#earliest()
  }

  stop(): Promise<RecordedFile[]> {
    return (this.#stopped ??= this.#stop())
  }

  published(stream: Stream): void {
    this.#updateInBackground(stream)
  }

  changed(stream: Stream): void {
    this.#updateInBackground(stream)
  }

  mediaReplaced(stream: Stream): void {
    this.#updateInBackground(stream)
  }

  unpublished(stream: Stream): void {
    this.#updateInBackground(stream)
  }

  closed(): void {
    this.context.onEnded('the session left the media node')
  }

  async #begin(streams: readonly Stream[]): Promise<void> {
    const opened = await Promise.allSettled(streams.map((stream) => this.#update(stream)))
    opened.forEach((result, at) => {
      const stream = streams[at]
      if (result.status === 'fulfilled' || !stream) return
      if (!this.#mayFail || this.#files.size === 0) throw result.reason
      this.#retryLater(stream, messageOf(result.reason))
    })
    if (this.context.job.continues !== true) await this.#untilWriting(streams)
  }

  async #stop(): Promise<RecordedFile[]> {
    this.#closing = true
    this.#stopping.abort()
    this.#unobserve()
    for (const stream of [...this.#receivers.keys()]) this.#receive(stream)
    const failures: unknown[] = []
    // Repeated: a file that was being opened appears only when its task has ended.
    while (this.#files.size > 0 || this.#pending.size > 0) {
      const closing = [...this.#files.keys()].map((stream) => this.#update(stream))
      for (const result of await Promise.allSettled(closing))
        if (result.status === 'rejected') failures.push(result.reason)
      await Promise.all(this.#pending)
    }
    if (failures.length > 0) throw failures[0]
    return this.#finished
  }

  /** Files without a packet start later than now. */
  #earliest(): number {
    const files = [...this.#finished, ...this.#files.values()]
    return Math.min(this.context.clock.now(), ...files.flatMap(({ startedAt }) => startedAt ?? []))
  }

  #updateInBackground(stream: Stream): void {
    void this.#update(stream).catch((error: unknown) => this.#retryLater(stream, messageOf(error)))
  }

  /** The other streams are recorded further. Once there is none, the part ends. */
  #retryLater(stream: Stream, failure: string): void {
    if (this.#closing) return
    if (!this.#mayFail || this.#files.size === 0) return this.context.onEnded(failure)
    const { recordingId, part } = this.context.job
    logger.warn({ recordingId, part, streamId: stream.id, failure }, 'recording a stream failed, will retry')
    const failures = (this.#failures.get(stream) ?? 0) + 1
    this.#failures.set(stream, failures)
    void this.#updateAfter(backoffMs(failures, FAILURE_BACKOFF), stream)
  }

  async #updateAfter(ms: number, stream: Stream): Promise<void> {
    this.#waiting.add(stream)
    await sleep(ms, this.#stopping.signal)
    this.#waiting.delete(stream)
    if (!this.#closing) this.#updateInBackground(stream)
  }

  /** Opens or closes the stream's file as needed; serialised per stream. */
  #update(stream: Stream): Promise<void> {
    this.#receive(stream)
    this.#interrupts.get(stream)?.()
    const task = this.#steps.run(stream.id, () => this.#step(stream))
    const settled = task.catch(() => undefined).finally(() => this.#pending.delete(settled))
    this.#pending.add(settled)
    return task
  }

  /** Is a receiver of the stream as long as that is to be recorded. */
  #receive(stream: Stream): void {
    const release = this.#receivers.get(stream)
    const { isAny } = this.#situation(stream).wanted
    if (isAny && !release) this.#receivers.set(stream, stream.addReceiver())
    if (isAny || !release) return
    this.#receivers.delete(stream)
    release()
  }

  async #step(stream: Stream): Promise<void> {
    const { current, wanted } = this.#situation(stream)
    if (current?.failure !== undefined) return this.#failed(stream, current, current.failure)
    const { kinds: now } = wanted
    if (now.length > 0 && this.#waiting.has(stream)) return
    if (current?.isReplaced && now.length > 0) return this.#reopen(stream, current, now)
    if (current?.lacksVideo && now.includes('video')) return this.#addVideo(stream, current, now)
    if (current && wanted.keep(current.kinds)) return
    if (current) await this.#close(stream, current)
    // Closing takes time: the tracks may have changed meanwhile.
    const { kinds } = this.#situation(stream).wanted
    if (kinds.length > 0) await this.#open(stream, kinds)
  }

  #situation(stream: Stream): { current: StreamFile | undefined; wanted: ReturnType<typeof wantedTracks> } {
    const { job, room } = this.context
    const isPublished = !this.#closing && room.streams.get(stream.id) === stream
    const tracks = stream.tracks.map(({ kind, paused }) => ({ kind, paused }))
    const isWanted = isPublished && stream.publisher.metadata.record
    return { current: this.#files.get(stream), wanted: wantedTracks(isWanted ? tracks : [], job) }
  }

  async #failed(stream: Stream, file: StreamFile, failure: string): Promise<void> {
    const { startedAt, endedAt } = file.described
    if (endedAt - startedAt > FAILURE_BACKOFF.longestMs) this.#failures.delete(stream)
    await this.#close(stream, file)
    if (this.#situation(stream).wanted.kinds.length === 0) return
    this.#retryLater(stream, `the recording of stream ${stream.id}: ${failure}`)
  }

  /** Other tracks are forwarded. The former ones flow for a while, so that no media is missing between the files. */
  async #reopen(stream: Stream, former: StreamFile, kinds: readonly types.MediaKind[]): Promise<void> {
    await this.#open(stream, kinds)
    await this.#close(stream, former)
  }

  /** Pictures arrive. The next one that can begin a file may be seconds away: the former file has the audio until then. */
  async #addVideo(stream: Stream, former: StreamFile, kinds: readonly types.MediaKind[]): Promise<void> {
    const { promise: interrupted, resolve } = Promise.withResolvers<void>()
    this.#interrupts.set(stream, resolve)
    try {
      await this.#open(stream, kinds, interrupted)
    } finally {
      this.#interrupts.delete(stream)
    }
    if (this.#files.get(stream) !== former) await this.#close(stream, former)
  }

  async #open(stream: Stream, kinds: readonly types.MediaKind[], interrupted?: Promise<void>): Promise<void> {
    const { folder, clock } = this.context
    const count = this.#counts.get(stream.id) ?? 0
    this.#counts.set(stream.id, count + 1)
    const name = count === 0 ? stream.id : `${stream.id}-${count}`
    const onFailed = (): void => this.#updateInBackground(stream)
    const onVideoMissing = (): void => {
      if (!this.#interrupts.has(stream)) this.#updateInBackground(stream)
    }
    try {
      const file = await StreamFile.open({ stream, kinds, folder, clock, name, interrupted, onFailed, onVideoMissing })
      if (!file) return
      this.#files.set(stream, file)
      if (file.lacksVideo) onVideoMissing()
      this.#reportFiles()
    } catch (error) {
      // The stream has ended meanwhile: nothing is missing.
      if (this.#situation(stream).wanted.kinds.length > 0) throw error
    }
  }

  async #close(stream: Stream, file: StreamFile): Promise<void> {
    if (this.#files.get(stream) === file) this.#files.delete(stream)
    const recorded = await file.close()
    if (recorded) this.#finished.push(recorded)
    this.#reportFiles()
  }

  #reportFiles(): void {
    this.context.onFiles?.([...this.#finished, ...[...this.#files.values()].map(({ described }) => described)])
  }

  /** Resolves when each stream has bytes in its file, or the first one if failed streams may be ignored. */
  async #untilWriting(streams: readonly Stream[]): Promise<void> {
    const startedAt = performance.now()
    while (!this.#closing) {
      const missing = await this.#withoutBytes(streams)
      const hasOne = [...this.#files.values()].length > missing.length
      if (missing.length === 0 || (this.#mayFail && hasOne)) break
      const waited = performance.now() - startedAt
      const failed = waited > NO_FILE_MS ? missing : waited > SILENT_MS ? await silentOf(missing) : []
      if (failed.length > 0 && !this.#mayFail) throw noMediaFrom(failed.map(({ stream }) => stream))
      if (failed.length === missing.length) break
      await sleep(POLL_MS)
    }
    this.#reportFiles()
  }

  async #withoutBytes(streams: readonly Stream[]): Promise<Missing[]> {
    const missing: Missing[] = []
    for (const stream of streams) {
      const file = this.#files.get(stream)
      // One that was muted meanwhile sends nothing.
      const isDue = this.#situation(stream).wanted.kinds.length > 0
      if (file && isDue && !(await file.hasBytes())) missing.push({ stream, file })
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

const noMediaFrom = (streams: readonly Stream[]): ServiceError =>
  new ServiceError(
    'LAUNCH_FAILED',
    `no media arrived from ${streams.length === 1 ? 'stream' : 'streams'} ${streams.map(({ id }) => id).join(', ')}`,
  )
