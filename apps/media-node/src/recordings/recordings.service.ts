import { availableParallelism } from 'node:os'
import { Inject, Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import {
  NOT_ENOUGH_DISK,
  ServiceError,
  type NodeCommandCall,
  type RunningJob,
  type Slots,
} from '@session-service/contract'
import type { NodeConfig } from '@session-service/config'
import { ReportSender } from '@session-service/messaging'
import { AlignedInterval, KeyedMutex, markHandled, metrics, unlessAborted } from '@session-service/server-kit'
import type { z } from 'zod'
import { MediaService, type Answer, type Commands, type RecordingCommand } from '../rooms/media.service.js'
import type { Room } from '../rooms/room.js'
import { NODE_CONFIG } from '../node/node-state.js'
import { Rhythm } from '../node/rhythm.js'
import { removeStaleScratchDirs } from './custom/scratch-dir.js'
import { compose } from './deferred/compose.js'
import { DeliveryJob, type Composed, type JobEnvironment } from './jobs/delivery-job.js'
import { Job, SHUTDOWN } from './jobs/job.js'
import type { Notes } from './jobs/journal.js'
import { recorderFor } from './recorders.js'
import { RecordingsFolder } from './jobs/recordings-folder.js'
import { salvageable } from './jobs/salvage.js'
import { hasSlots, recordingSlots, slotsOf, wholeSlots } from './slots.js'

/** Heartbeats for each check of the disk: it is checked every 2 s, or 8 s while the node rests. */
const DISK_CHECK_BEATS = 4
/** Interval of the search for orphaned jobs. */
const SALVAGE_MS = 30_000
const DISK_FULL = `${NOT_ENOUGH_DISK}: the disk of the media node is nearly full`

/** The recording jobs of this node; each records one part of a recording. */
@Injectable()
export class RecordingsService implements Commands<RecordingCommand>, OnModuleDestroy {
  readonly #logger = new Logger(RecordingsService.name)
  readonly #folder: RecordingsFolder
  readonly #slots: number
  readonly #jobs = new Map<string, DeliveryJob>()
  readonly #compositions = new KeyedMutex()
  readonly #shutdown = new AbortController()
  readonly #ended = metrics.counter('recordings_ended_total', {
    help: 'Ended recording parts, by result',
    labels: { result: ['stopped', 'failed', 'drained', 'not_started', 'salvaged', 'discarded'] },
  })
  readonly #timers: { stop(): void }[] = []
  #usable = true
  #isChecking = false

  constructor(
    @Inject(NODE_CONFIG) config: NodeConfig,
    private readonly media: MediaService,
    private readonly reports: ReportSender,
    private readonly rhythm: Rhythm,
  ) {
    this.#folder = new RecordingsFolder(config.MEDIA_NODE_RECORDING_PATH, config.MEDIA_NODE_RECORDING_MIN_FREE)
    this.#slots = recordingSlots(config.MEDIA_NODE_RECORDING_SLOTS, availableParallelism())
    metrics.sampled('recording_slots', 'Recording slots of this node', () => this.slots.total)
    metrics.sampled('recordings_running', 'Running recordings', () => this.#recording.length)
    metrics.sampled('recordings_delivering', 'Ended recording parts whose files are being delivered', () =>
      this.#countOf('delivering'),
    )
    metrics.sampled(
      'recordings_composing',
      'Ended deferred recordings whose files are being composed or wait for that',
      () => this.#countOf('composing'),
    )
  }

  get jobs(): RunningJob[] {
    return [...this.#jobs.values()].map(({ running }) => running)
  }

  /** The slots in use; deferred recordings use a fraction of one. */
  get used(): number {
    return this.#recording.reduce((sum, { job }) => sum + slotsOf(job), 0)
  }

  get slots(): z.infer<typeof Slots> {
    const used = wholeSlots(this.used)
    return { used, total: this.#usable ? Math.max(this.#slots, used) : used }
  }

  /** The disk space that has to stay free. */
  set minFreeMib(mib: number) {
    this.#folder.floorMib = mib
  }

  /** Called once the node accepts commands: salvages orphaned jobs and watches the disk space. */
  start(): void {
    this.#timers.push(
      this.rhythm.interval(() => void this.#checkDisk(), DISK_CHECK_BEATS),
      new AlignedInterval(() => void this.#salvage(), SALVAGE_MS),
    )
    void this.#checkDisk()
    void this.#salvage()
    void removeStaleScratchDirs()
  }

  onModuleDestroy(): void {
    for (const timer of this.#timers) timer.stop()
    this.#shutdown.abort(new Error(SHUTDOWN))
  }

  /** Ends all recordings; resolves when their recorders have stopped. The delivery goes on. */
  async endAll(): Promise<void> {
    const jobs = [...this.#jobs.values()].filter((job) => job instanceof Job)
    for (const job of jobs) job.end(SHUTDOWN)
    await Promise.allSettled(jobs.map((job) => job.stopped()))
  }

  /** Stops all jobs and waits for the delivery of their files; the next node salvages the remaining ones. */
  async finishAll(withinMs: number): Promise<void> {
    const timer = setTimeout(() => this.#shutdown.abort(new Error(SHUTDOWN)), withinMs)
    const jobs = [...this.#jobs.values()]
    for (const job of jobs) if (job instanceof Job) job.end(SHUTDOWN)
    await Promise.all(jobs.map((job) => job.done))
    clearTimeout(timer)
  }

  async startRecording(call: NodeCommandCall<'startRecording'>): Answer<'startRecording'> {
    const present = this.#jobs.get(keyOf(call))
    if (present instanceof Job) return present.started
    if (present) throw new ServiceError('CONFLICT', `part ${call.part} of recording ${call.recordingId} has ended`)
    const room = this.#room(call)
    const factory = recorderFor(call)
    if (this.#usable && !hasSlots({ used: this.used, total: this.slots.total }, slotsOf(call)))
      throw new ServiceError('NO_CAPACITY', 'the media node has no free recording slot')
    const job = new Job(this.#environment(call), call, room, factory, () => this.#folder.require())
    this.#add(job)
    return job.started
  }

  async stopRecording(call: NodeCommandCall<'stopRecording'>): Answer<'stopRecording'> {
    const job = this.#jobs.get(keyOf(call))
    if (!job) {
      const what = `part ${call.part} of recording ${call.recordingId} does not run on this media node`
      throw new ServiceError('NOT_FOUND', what, { subject: 'recording' })
    }
    if (job instanceof Job) job.end()
    if (call.discard) job.discard()
    return {}
  }

  get #recording(): Job[] {
    return [...this.#jobs.values()].filter((job) => job instanceof Job).filter(({ isRecording }) => isRecording)
  }

  #countOf(state: RunningJob['state']): number {
    return this.jobs.filter((job) => job.state === state).length
  }

  /** One at a time: a composition takes all the processor time that is left. */
  async #compose({ job }: Notes, folder: string, signal: AbortSignal): Promise<Composed> {
    const run = async (): Promise<Composed> => {
      signal.throwIfAborted()
      try {
        return { files: await compose({ job, folder, signal }) }
      } catch (error) {
        if (signal.aborted || !(await this.#folder.isFull())) throw error
        throw new ServiceError('NO_CAPACITY', DISK_FULL, { cause: error })
      }
    }
    const turn = Promise.withResolvers<void>()
    const composed = this.#compositions.run('', () => (turn.resolve(), run()))
    markHandled(composed)
    // One that is discarded does not wait for the others.
    await unlessAborted(turn.promise, signal)
    return composed
  }

  #room({ roomId, epoch }: NodeCommandCall<'startRecording'>): Room {
    const room = this.media.rooms.get(roomId)
    if (room.epoch === epoch) return room
    throw new ServiceError('CONFLICT', `room ${roomId} has epoch ${room.epoch} on this media node`)
  }

  #environment(part: Parameters<RecordingsFolder['ofJob']>[0]): JobEnvironment {
    return {
      folder: this.#folder.ofJob(part),
      signal: this.#shutdown.signal,
      compose: (notes, own, signal) => this.#compose(notes, own, signal),
      report: async (ended) => void (await this.reports.send({ kind: 'recordingEnded', ended })),
    }
  }

  #add(job: DeliveryJob): void {
    const key = keyOf(job.job)
    this.#jobs.set(key, job)
    void this.#remove(key, job)
  }

  async #remove(key: string, job: DeliveryJob): Promise<void> {
    const end = await job.done
    this.#jobs.delete(key)
    if (end !== 'left') this.#ended.inc({ result: end })
  }

  async #checkDisk(): Promise<void> {
    if (this.#isChecking) return
    this.#isChecking = true
    await this.#stopIfFull().catch((err: unknown) =>
      this.#logger.warn({ err }, 'checking the recordings folder failed'),
    )
    this.#isChecking = false
  }

  /** Stops the newest recording at each check while the disk is full. */
  async #stopIfFull(): Promise<void> {
    const problem = await this.#folder.problem()
    if (problem !== undefined && this.#usable) this.#logger.error({ folder: this.#folder.path }, problem)
    this.#usable = problem === undefined
    const last = this.#recording.at(-1)
    if (!last || !(await this.#folder.isFull())) return
    this.#logger.error({ recordingId: last.job.recordingId }, `${DISK_FULL}: stopping the newest recording`)
    last.end(DISK_FULL)
  }

  async #salvage(): Promise<void> {
    for (const folder of await this.#folder.jobFolders()) {
      if (this.#shutdown.signal.aborted) return
      if ([...this.#jobs.values()].some((job) => job.folder === folder)) continue
      const notes = await salvageable(folder).catch((err: unknown) => {
        this.#logger.warn({ err, folder }, 'salvaging the recording of a dead media node failed, will retry')
        return undefined
      })
      if (!notes || this.#jobs.has(keyOf(notes.job))) continue
      this.#logger.warn({ folder }, 'salvaging the recording of a dead media node')
      this.#add(new DeliveryJob(this.#environment(notes.job), notes))
    }
  }
}

const keyOf = ({ recordingId, part }: { recordingId: string; part: number }): string => `${recordingId}.${part}`
