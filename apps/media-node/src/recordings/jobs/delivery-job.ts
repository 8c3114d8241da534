import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Logger } from '@nestjs/common'
import { backoffMs, messageOf, sleep, unlessAborted } from '@session-service/server-kit'
import {
  DESCRIPTION_FILE,
  MOST_DESCRIPTION_BYTES,
  ServiceError,
  type RecordedFile,
  type RecordingEnded,
  type RecordingJob,
  type RunningJob,
} from '@session-service/contract'
import { removePackets } from '../recorder/deferred.js'
import { deliver, type Sendable } from './delivery.js'
import { Journal, type Notes } from './journal.js'

/** Attempts to compose a deferred recording: a program that was killed may succeed the next time. */
const MAX_COMPOSITIONS = 3
/** The back-off between two attempts to compose or deliver a part. */
const FIRST_PAUSE_MS = 1_000
const LONGEST_PAUSE_MS = 60_000

export interface JobEnvironment {
  /** The job's own folder; it does not exist yet. */
  folder: string
  /** Resolves once a master has acknowledged the report. */
  report: (ended: RecordingEnded) => Promise<void>
  /** Aborted when the node shuts down: the next node salvages undelivered files. */
  signal: AbortSignal
  /** Makes the files of a deferred recording. Rejects with a ServiceError for a failure that passes. */
  compose: (notes: Notes, folder: string, signal: AbortSignal) => Promise<Composed>
  /** The first back-off after a failed attempt. */
  firstPauseMs?: number
}

/** The files of a deferred recording, or why there are none. */
export interface Composed {
  files: RecordedFile[]
  failure?: string
}

/** `drained`: the node shuts down. `left`: to the next node, which salvages it. `discarded`: its recording was deleted. */
export type JobEnd = 'stopped' | 'failed' | 'drained' | 'not_started' | 'salvaged' | 'discarded' | 'left'

/** The end of a job: makes its files if they are not there yet, delivers its files, reports to the masters, and removes its folder. */
export class DeliveryJob {
  protected readonly logger = new Logger('Recording')
  protected readonly journal: Journal
  readonly #discarded = new AbortController()
  /** Aborted when the job is discarded or the node shuts down. */
  readonly #signal: AbortSignal
  #done: Promise<JobEnd> | undefined

  constructor(
    protected readonly environment: JobEnvironment,
    protected notes: Notes,
  ) {
    this.journal = new Journal(environment.folder)
    this.#signal = AbortSignal.any([environment.signal, this.#discarded.signal])
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
    return this.notes.state === 'composing' ? 'composing' : 'delivering'
  }

  /** Whether it occupies a recorder. */
  get isRecording(): boolean {
    return this.state === 'starting' || this.state === 'recording'
  }

  get running(): RunningJob {
    return { recordingId: this.job.recordingId, part: this.job.part, state: this.state }
  }

  /** Ends it without delivery and report, because its recording was deleted. Returns at once. */
  discard(): void {
    this.#discarded.abort(new Error('the recording was deleted'))
  }

  async #runToEnd(): Promise<JobEnd> {
    const { firstPauseMs = FIRST_PAUSE_MS } = this.environment
    const stopKeepAlive = this.journal.keepAlive()
    try {
      for (let attempt = 1; ; attempt += 1) {
        const end = await this.#attempt(attempt)
        if (end !== undefined) return end
        const ms = backoffMs(attempt, { firstMs: firstPauseMs, longestMs: LONGEST_PAUSE_MS, jitter: false })
        await sleep(ms, this.#signal)
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
      if (this.#signal.aborted) return this.#remove()
      this.logger.warn({ err, ...this.running, attempt }, 'finishing the recording part failed, will retry')
      return undefined
    }
  }

  async #remove(): Promise<JobEnd> {
    const { recordingId, part } = this.job
    await rm(this.folder, { recursive: true, force: true }).catch((err: unknown) =>
      this.logger.warn({ err, recordingId, part }, 'removing the part of a deleted recording failed'),
    )
    return 'discarded'
  }

  /** Idempotent: a retry continues after a failure. */
  protected async run(): Promise<JobEnd> {
    await this.compose()
    await this.deliver()
    return 'salvaged'
  }

  /** Makes the files of a deferred recording. @throws for another attempt */
  protected async compose(): Promise<void> {
    if (this.notes.state !== 'composing') return
    const { folder, compose } = this.environment
    const { files, failure } = await compose(this.notes, folder, this.#signal).catch((error: unknown) =>
      this.#compositionFailed(error),
    )
    this.notes = { ...this.notes, state: 'delivering', files, ...(failure !== undefined && { failure }) }
    await this.journal.write(this.notes)
    await removePackets(folder)
  }

  /** After the last attempt the recording is given up. */
  async #compositionFailed(error: unknown): Promise<Composed> {
    if (this.#signal.aborted || error instanceof ServiceError) throw error
    const attempts = (this.notes.attempts ?? 0) + 1
    const reason = messageOf(error)
    if (attempts >= MAX_COMPOSITIONS) return { files: [], failure: `the recording could not be composed: ${reason}` }
    this.notes = { ...this.notes, attempts }
    await this.journal.write(this.notes)
    throw error
  }

  /** Delivers the files in the notes, which the journal has already. */
  protected async deliver(): Promise<void> {
    const { folder, report } = this.environment
    const signal = this.#signal
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
