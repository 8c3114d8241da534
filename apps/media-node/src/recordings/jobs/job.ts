import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { makeFolder, messageOf, type ReferenceClock, serviceClock, withTimeout } from '@session-service/server-kit'
import { ServiceError, type RecordedFile, type RecordingJob, type RunningJob } from '@session-service/contract'
import type { Room } from '../../rooms/room.js'
import { writtenAt } from '../recorder/cut-end.js'
import { isDeferred } from '../recorder/deferred.js'
import type { Recorder, RecorderFactory } from '../recorder/recorder.js'
import { DeliveryJob, type JobEnd, type JobEnvironment } from './delivery-job.js'
import type { Notes } from './journal.js'

/** After this time the files are used as they are; the recorder is abandoned. */
const STOP_TIMEOUT_MS = 20_000

/** The failure of a job whose node shuts down. */
export const SHUTDOWN = 'the media node shuts down'

/** The job of one recording part, from the command of a master to the final report. */
export class Job extends DeliveryJob {
  /** Not corrected during the recording, so that its files stay in step. */
  readonly #clock: ReferenceClock
  #recorder: Recorder | undefined
  readonly #end: { promise: Promise<void>; resolve: () => void }
  #hasStarted = false
  #ending = false
  #stopped: Promise<RecordedFile[]> | undefined
  /** Resolves with the time of the first media once a file has bytes; rejects when the start fails. */
  readonly started: Promise<{ startedAt: number }>

  constructor(
    environment: JobEnvironment,
    job: RecordingJob,
    private readonly room: Room,
    private readonly factory: RecorderFactory,
    /** Rejects when the node cannot record now. */
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
    if (this.notes.state !== 'recording') return super.state
    return this.#hasStarted ? 'recording' : 'starting'
  }

  /** Returns at once; `done` resolves when the job has ended. */
  end(failure?: string): void {
    if (this.#ending) return
    this.#ending = true
    if (failure !== undefined) this.notes.failure = failure
    this.#end.resolve()
  }

  /** Resolves when the recorder has stopped, after `end`. */
  async stopped(): Promise<void> {
    await this.started.then(
      () => this.#stop(),
      () => undefined,
    )
  }

  async #start(): Promise<{ startedAt: number }> {
    const { folder } = this.environment
    await this.admit()
    await makeFolder(folder)
      .then(() => this.journal.write(this.notes))
      .catch((error: NodeJS.ErrnoException) => {
        const text = `the media node cannot write recordings: ${error.code}`
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
    this.#hasStarted = true
    this.notes.startedAt = startedAt ?? this.#clock.now()
    return { startedAt: this.notes.startedAt }
  }

  #requireNotStopped(): void {
    if (!this.#ending) return
    throw new ServiceError('LAUNCH_FAILED', this.notes.failure ?? 'the recording was stopped while it started')
  }

  async #finish(): Promise<JobEnd> {
    await this.#end.promise
    await this.#recorded()
    await this.compose()
    await this.deliver()
    if (this.notes.failure === undefined) return 'stopped'
    return this.#isDrained ? 'drained' : 'failed'
  }

  /** Once: a retry continues with the notes. */
  async #recorded(): Promise<void> {
    if (this.notes.state !== 'recording') return
    const files = await this.#stop()
    this.notes = { ...this.notes, state: isDeferred(this.job) ? 'composing' : 'delivering', files }
    // On a full disk the previous journal remains, which is sufficient.
    await this.journal.write(this.notes).catch(() => undefined)
  }

  async #drop(): Promise<JobEnd> {
    this.notes.state = 'delivering'
    await this.#stop()
    await rm(this.environment.folder, { recursive: true, force: true })
    return this.#isDrained ? 'drained' : 'not_started'
  }

  get #isDrained(): boolean {
    return this.notes.failure === SHUTDOWN
  }

  /** Resolves with the recorded files in any case. */
  #stop(): Promise<RecordedFile[]> {
    return (this.#stopped ??= this.#stopWithin(STOP_TIMEOUT_MS))
  }

  async #stopWithin(ms: number): Promise<RecordedFile[]> {
    try {
      return await withTimeout(this.#recorder?.stop() ?? Promise.resolve([]), ms, 'stopping the recorder')
    } catch (error) {
      this.notes.failure ??= messageOf(error)
      return filesLeft(this.environment.folder, this.notes)
    }
  }

  #note(files: readonly RecordedFile[]): void {
    this.notes.files = [...files]
    if (this.notes.state !== 'recording') return
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
