import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Logger } from '@nestjs/common'
import {
  backoffMs,
  makeFolder,
  serviceClock,
  sleep,
  unlessAborted,
  withTimeout,
  type ReferenceClock,
} from '@session-service/server-kit'
import {
  DESCRIPTION_FILE,
  MOST_DESCRIPTION_BYTES,
  ServiceError,
  type RecordedFile,
  type RecordingEnded,
  type RecordingJob,
  type RunningJob,
} from '@session-service/contract'
import type { Room } from '../../rooms/room.js'
import { writtenAt } from '../recorder/cut-end.js'
import { deliver, type Sendable } from './delivery.js'
import { Journal, type Notes } from './journal.js'
import type { Recorder, RecorderFactory } from '../recorder/recorder.js'

/** After this time the files are used as they are; the recorder is abandoned. */
const STOP_TIMEOUT_MS = 20_000
/** The back-off between two attempts to deliver a part. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export interface JobEnvironment {
  /** The job's own folder; it does not exist yet. */
  folder: string
  /** Resolves once a master has acknowledged the report. */
  report: (ended: RecordingEnded) => Promise<void>
  /** Aborted when the node shuts down: the next node salvages undelivered files. */
  signal: AbortSignal
  /** The first back-off after a failed attempt. */
  firstPauseMs?: number
}

/** `left`: to the next node, which salvages it. */
type JobEnd = 'stopped' | 'failed' | 'not_started' | 'salvaged' | 'left'

/** The end of a job: delivers its files, reports to the masters, and removes its folder. */
export class DeliveryJob {
  protected readonly logger = new Logger('Recording')
  protected readonly journal: Journal
  #done: Promise<JobEnd> | undefined

  constructor(
    protected readonly environment: JobEnvironment,
    protected notes: Notes,
  ) {
    this.journal = new Journal(environment.folder)
  }

  get folder(): string {
    return this.environment.folder
  }

  /** Never rejects. */
  get done(): Promise<JobEnd> {
    return (this.#done ??= this.#runToEnd())
  }

  get job(): RecordingJob {
    return this.notes.job
  }

  get state(): RunningJob['state'] {
    return 'delivering'
  }

  get running(): RunningJob {
    return { recordingId: this.job.recordingId, part: this.job.part, state: this.state }
  }

  async #runToEnd(): Promise<JobEnd> {
    const { signal, firstPauseMs = FIRST_PAUSE_MS } = this.environment
    const stopKeepAlive = this.journal.keepAlive()
    try {
      for (let attempt = 1; ; attempt += 1) {
        const end = await this.#attempt(attempt)
        if (end !== undefined) return end
        const ms = backoffMs(attempt, { firstMs: firstPauseMs, longestMs: LONGEST_PAUSE_MS, jitter: false })
        await sleep(ms, signal)
      }
    } finally {
      stopKeepAlive()
    }
  }

  /** Undefined: to be retried. */
  async #attempt(attempt: number): Promise<JobEnd | undefined> {
    try {
      return await this.run()
    } catch (err) {
      if (this.environment.signal.aborted) return 'left'
      this.logger.error({ err, ...this.running, attempt }, 'uploading the recording failed, will retry')
      return undefined
    }
  }

  /** Idempotent: a retry continues after a failure. */
  protected async run(): Promise<JobEnd> {
    await this.deliver()
    return 'salvaged'
  }

  /** Delivers the files in the notes, which the journal has already. */
  protected async deliver(): Promise<void> {
    const { folder, signal, report } = this.environment
    const { job, files, failure } = this.notes
    const { recordingId, part, delivery } = job
    const onRetry = (err: unknown, attempt: number): void =>
      this.logger.warn({ err, recordingId, part, attempt }, 'delivering the files of a recording failed, will retry')
    const send = <F extends Sendable>(some: readonly F[]): Promise<F[]> =>
      deliver({ recordingId, part, target: delivery, folder, files: some }, { signal, onRetry })
    const delivered = await send(files)
    const description = await describe(delivered, folder, send)
    signal.throwIfAborted()
    await unlessAborted(
      report({ recordingId, part, ...description, ...(failure !== undefined && { failure }) }),
      signal,
    )
    await rm(folder, { recursive: true, force: true })
    this.logger.log({ recordingId, part, files: delivered.length, failure }, 'the recording part is delivered')
  }
}

/** The report about delivered files: their descriptions go into a file when they are too large for a message. */
async function describe(
  files: RecordedFile[],
  folder: string,
  send: (files: readonly Sendable[]) => Promise<Sendable[]>,
): Promise<Pick<RecordingEnded, 'files' | 'description'>> {
  const text = JSON.stringify(files)
  const size = Buffer.byteLength(text)
  if (size <= MOST_DESCRIPTION_BYTES) return { files }
  await writeFile(join(folder, DESCRIPTION_FILE), text)
  const delivered = await send([{ name: DESCRIPTION_FILE, size }])
  return delivered.length > 0 ? { files: [], description: DESCRIPTION_FILE } : { files: [] }
}

/** The job of one recording part, from the command of a master to the final report. */
export class Job extends DeliveryJob {
  /** Not corrected during the recording, so that its files stay in step. */
  readonly #clock: ReferenceClock
  #recorder: Recorder | undefined
  readonly #end: { promise: Promise<void>; resolve: () => void }
  #state: RunningJob['state'] = 'starting'
  #ending = false
  #stopped: Promise<RecordedFile[]> | undefined
  /** Resolves with the time of the first media once a file has bytes; rejects when the start fails. */
  readonly started: Promise<{ startedAt: number }>

  constructor(
    environment: JobEnvironment,
    job: RecordingJob,
    private readonly room: Room,
    private readonly factory: RecorderFactory,
    /** Rejects when the node can not record now. */
    private readonly admit: () => Promise<void>,
  ) {
    const clock = serviceClock.uncorrected()
    super(environment, { job, startedAt: clock.now(), state: 'recording', files: [] })
    this.#clock = clock
    this.#end = Promise.withResolvers<void>()
    this.started = this.#start()
  }

  protected override run(): Promise<JobEnd> {
    return this.started.then(
      () => this.#finish(),
      () => this.#drop(),
    )
  }

  override get state(): RunningJob['state'] {
    return this.#state
  }

  /** Returns at once; `done` resolves when the job has ended. */
  end(failure?: string): void {
    if (this.#ending) return
    this.#ending = true
    if (failure !== undefined) this.notes.failure = failure
    this.#end.resolve()
  }

  async #start(): Promise<{ startedAt: number }> {
    const { folder } = this.environment
    await this.admit()
    await makeFolder(folder)
      .then(() => this.journal.write(this.notes))
      .catch((error: NodeJS.ErrnoException) => {
        const text = `the media node can not write recordings: ${error.code}`
        throw new ServiceError('UNAVAILABLE', text, { cause: error })
      })
    this.#requireNotStopped()
    // After the journal: the recorder starts to write at once.
    this.#recorder = this.factory({
      job: this.job,
      room: this.room,
      folder,
      clock: this.#clock,
      onEnded: (failure) => this.end(failure),
      onFiles: (files) => this.#note(files),
    })
    const startedAt = await Promise.race([this.#recorder.start(), this.#end.promise])
    this.#requireNotStopped()
    this.#state = 'recording'
    this.notes.startedAt = startedAt ?? this.#clock.now()
    return { startedAt: this.notes.startedAt }
  }

  #requireNotStopped(): void {
    if (!this.#ending) return
    throw new ServiceError('LAUNCH_FAILED', this.notes.failure ?? 'the recording was stopped while it started')
  }

  async #finish(): Promise<JobEnd> {
    await this.#end.promise
    const files = await this.#stop()
    this.#state = 'delivering'
    this.notes = { ...this.notes, state: 'delivering', files }
    // On a full disk the previous journal remains, which is sufficient.
    await this.journal.write(this.notes).catch(() => undefined)
    await this.deliver()
    return this.notes.failure === undefined ? 'stopped' : 'failed'
  }

  async #drop(): Promise<JobEnd> {
    this.#state = 'delivering'
    await this.#stop()
    await rm(this.environment.folder, { recursive: true, force: true })
    return 'not_started'
  }

  /** Resolves with the recorded files in any case. */
  #stop(): Promise<RecordedFile[]> {
    return (this.#stopped ??= this.#stopWithin(STOP_TIMEOUT_MS))
  }

  async #stopWithin(ms: number): Promise<RecordedFile[]> {
    try {
      return await withTimeout(this.#recorder?.stop() ?? Promise.resolve([]), ms, 'stopping the recorder')
    } catch (error) {
      this.notes.failure ??= error instanceof Error ? error.message : String(error)
      return filesLeft(this.environment.folder, this.notes)
    }
  }

  #note(files: readonly RecordedFile[]): void {
    this.notes.files = [...files]
    if (this.#state === 'delivering') return
    void this.journal.write(this.notes).catch(() => undefined)
  }
}

const MEDIA = /^[\w~-]+\.(mp4|webm|mkv)$/

/** The media files of a dead node's job: as described in the notes, or else as found in the folder. */
export async function filesLeft(folder: string, { job, files, startedAt }: Notes): Promise<RecordedFile[]> {
  const known = new Map(files.map((file) => [file.name, file]))
  const names = await readdir(folder).catch(() => [])
  const found = names
    .filter((name) => MEDIA.test(name))
    .map(async (name): Promise<RecordedFile> => {
      const { size, mtimeMs } = await stat(join(folder, name))
      const noted = known.get(name) ?? { name, hasAudio: job.hasAudio, hasVideo: job.hasVideo, startedAt }
      const endedAt = Math.max(noted.startedAt, Math.round(writtenAt(mtimeMs)))
      return { ...noted, size, endedAt }
    })
  return (await Promise.all(found)).filter(({ size }) => size > 0)
}
