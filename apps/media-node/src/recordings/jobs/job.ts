import { readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Logger } from '@nestjs/common'
import { makeFolder, type ReferenceClock, serviceClock } from '@session-service/server-kit'
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

/** A recorder that does not come to its end within this time is left to the kernel, its files are taken as they are. */
const STOP_MS = 20_000
/** Between two attempts to bring a part home. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export interface JobEnvironment {
  /** The job's own folder; not there yet. */
  folder: string
  /** Resolves once a master has heard it. */
  tell: (ended: RecordingEnded) => Promise<void>
  /** Aborted when the node ends: what is not delivered by then is left to who comes after. */
  signal: AbortSignal
  /** Before what could not be ended is tried again. */
  firstPauseMs?: number
}

/** `left`: for whoever comes after this node. */
export type JobEnd = 'stopped' | 'failed' | 'not_started' | 'salvaged' | 'left'

/** What becomes of a job in the end: its files are delivered, a master knows, and nothing of it is left here. */
export class Delivering {
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
    return (this.#done ??= this.#toTheEnd())
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

  async #toTheEnd(): Promise<JobEnd> {
    const { signal, firstPauseMs = FIRST_PAUSE_MS } = this.environment
    const endKeeping = this.journal.keepAlive()
    try {
      for (let attempt = 1; ; attempt += 1) {
        const end = await this.#attempt(attempt)
        if (end !== undefined) return end
        const ms = Math.min(firstPauseMs * 2 ** Math.min(attempt - 1, 10), LONGEST_PAUSE_MS)
        await pause(ms, undefined, { signal }).catch(() => undefined)
      }
    } finally {
      endKeeping()
    }
  }

  /** Undefined: again. */
  async #attempt(attempt: number): Promise<JobEnd | undefined> {
    try {
      return await this.run()
    } catch (err) {
      if (this.environment.signal.aborted) return 'left'
      this.logger.error({ err, ...this.running, attempt }, 'a recording is not brought home yet')
      return undefined
    }
  }

  /** Again after it failed: what is done already is not done twice. */
  protected async run(): Promise<JobEnd> {
    await this.deliver()
    return 'salvaged'
  }

  /** What the notes tell of; they are in the journal already. */
  protected async deliver(): Promise<void> {
    const { folder, signal, tell } = this.environment
    const { job, files, failure } = this.notes
    const { recordingId, part, delivery } = job
    const onRetry = (err: unknown, attempt: number): void =>
      this.logger.warn({ err, recordingId, part, attempt }, 'the files of a recording are not delivered yet')
    const send = <F extends Sendable>(some: readonly F[]): Promise<F[]> =>
      deliver({ recordingId, part, delivery, folder, files: some }, { signal, onRetry })
    const delivered = await send(files)
    const told = await described(delivered, folder, send)
    signal.throwIfAborted()
    await unlessAborted(tell({ recordingId, part, ...told, ...(failure !== undefined && { failure }) }), signal)
    await rm(folder, { recursive: true, force: true })
    this.logger.log({ recordingId, part, files: delivered.length, failure }, 'a part of a recording is delivered')
  }
}

/** What comes of the task; rejects when `signal` is aborted before. */
async function unlessAborted(task: Promise<void>, signal: AbortSignal): Promise<void> {
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = (): void => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  await Promise.race([task, aborted]).finally(() => signal.removeEventListener('abort', abort))
}

/** How masters are told of these files, which they have: those that are too many for a message by a file of their own. */
async function described(
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

/** One part of a recording, from the command to the fact. */
export class Job extends Delivering {
  /** A correction of the clock during the recording does not move its files against each other. */
  readonly #clock: ReferenceClock
  #recorder: Recorder | undefined
  readonly #end: { promise: Promise<void>; resolve: () => void }
  #state: RunningJob['state'] = 'starting'
  #ending = false
  #stopped: Promise<RecordedFile[]> | undefined
  /** Resolves when the first bytes are in a file, with the time of its first media; rejects when the start fails. */
  readonly started: Promise<{ startedAt: number }>

  constructor(
    environment: JobEnvironment,
    job: RecordingJob,
    private readonly room: Room,
    private readonly factory: RecorderFactory,
    /** Rejects when nothing can be recorded now. */
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

  /** Answered at once; it goes on to `done`. */
  end(failure?: string): void {
    if (this.#ending) return
    this.#ending = true
    if (failure !== undefined) this.notes.failure = failure
    this.#end.resolve()
  }

  async #start(): Promise<{ startedAt: number }> {
    const { folder } = this.environment
    await this.admit()
    await makeFolder(folder).catch((error: NodeJS.ErrnoException) => {
      throw new ServiceError('UNAVAILABLE', `the media node can not write recordings: ${error.code}`, { cause: error })
    })
    await this.journal.write(this.notes)
    this.#requireWanted()
    // Only now: it begins to write as soon as it is there.
    this.#recorder = this.factory({
      job: this.job,
      room: this.room,
      folder,
      clock: this.#clock,
      onEnded: (failure) => this.end(failure),
      onFiles: (files) => this.#note(files),
    })
    const startedAt = await Promise.race([this.#recorder.start(), this.#end.promise])
    this.#requireWanted()
    this.#state = 'recording'
    this.notes.startedAt = startedAt ?? this.#clock.now()
    return { startedAt: this.notes.startedAt }
  }

  #requireWanted(): void {
    if (!this.#ending) return
    throw new ServiceError('LAUNCH_FAILED', this.notes.failure ?? 'the recording was stopped while it started')
  }

  async #finish(): Promise<JobEnd> {
    await this.#end.promise
    const files = await this.#stop()
    this.#state = 'delivering'
    this.notes = { ...this.notes, state: 'delivering', files }
    // On a full disk the journal stays as it was: it says enough.
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

  /** What there is, whatever happens. */
  #stop(): Promise<RecordedFile[]> {
    return (this.#stopped ??= this.#stopWithin(STOP_MS))
  }

  async #stopWithin(ms: number): Promise<RecordedFile[]> {
    let timer: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error('the recorder did not end in time')), ms)
    })
    try {
      return await Promise.race([this.#recorder?.stop() ?? [], late])
    } catch (error) {
      this.notes.failure ??= error instanceof Error ? error.message : String(error)
      return filesLeft(this.environment.folder, this.notes)
    } finally {
      clearTimeout(timer)
    }
  }

  #note(files: readonly RecordedFile[]): void {
    this.notes.files = [...files]
    if (this.#state === 'delivering') return
    void this.journal.write(this.notes).catch(() => undefined)
  }
}

const MEDIA = /^[\w~-]+\.(mp4|webm|mkv)$/

/** What somebody who died left in a folder: what was noted, or else whatever media files there are. */
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
