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
import { FactSender } from '@session-service/messaging'
import { metrics } from '@session-service/server-kit'
import type { z } from 'zod'
import { MediaService, type Answer, type Commands, type JobOrder } from '../rooms/media.service.js'
import type { Room } from '../rooms/room.js'
import { NODE_CONFIG } from '../node/node-state.js'
import { sweepWorkplaces } from './custom/scratch-dir.js'
import { Delivering, Job, type JobEnvironment } from './jobs/job.js'
import { recorderFor } from './recorders.js'
import { RecordingsFolder } from './jobs/recordings-folder.js'
import { salvageable } from './jobs/salvage.js'
import { hasSlots, recordingSlots, slotsOf } from './slots.js'

/** How often it looks whether the disk is full, and whether somebody's jobs were left behind. */
const LOOK_MS = 2_000
const SALVAGE_MS = 30_000
const DISK_FULL = `${NOT_ENOUGH_DISK}: the disk of the media node is nearly full`

/** The recordings that this node makes: jobs, each of one part of a recording. */
@Injectable()
export class RecordingsService implements Commands<JobOrder>, OnModuleDestroy {
  readonly #logger = new Logger(RecordingsService.name)
  readonly #folder: RecordingsFolder
  readonly #slots: number
  readonly #jobs = new Map<string, Delivering>()
  readonly #leaving = new AbortController()
  readonly #ended = metrics.counter('recordings_ended_total', {
    help: 'Parts of recordings that ended, by whether they were stopped or failed',
    labels: { result: ['stopped', 'failed', 'not_started', 'salvaged'] },
  })
  readonly #timers: NodeJS.Timeout[] = []
  #usable = true
  #looking = false

  constructor(
    @Inject(NODE_CONFIG) config: NodeConfig,
    private readonly media: MediaService,
    private readonly facts: FactSender,
  ) {
    this.#folder = new RecordingsFolder(config.MEDIA_NODE_RECORDING_PATH, config.MEDIA_NODE_RECORDING_MIN_FREE)
    this.#slots = recordingSlots(config.MEDIA_NODE_RECORDING_SLOTS, availableParallelism())
    metrics.sampled('recording_slots', 'Recordings this node takes at a time', () => this.slots.total)
    metrics.sampled('recordings_running', 'Recordings this node makes', () => this.#recording.length)
    metrics.sampled('recordings_delivering', 'Ended parts whose files are on their way', () => this.#delivering)
    metrics.sampled('recording_fragment_age_seconds', 'Time since the recording that is most behind wrote', () =>
      this.#folder.longestSilence(this.#recording.map(({ job }) => job)),
    )
  }

  get jobs(): RunningJob[] {
    return [...this.#jobs.values()].map(({ running }) => running)
  }

  get slots(): z.infer<typeof Slots> {
    const used = this.#recording.reduce((sum, { job }) => sum + slotsOf(job), 0)
    return { used, total: this.#usable ? Math.max(this.#slots, used) : used }
  }

  /** Space that has to stay free. */
  set minFreeMib(mib: number) {
    this.#folder.floorMib = mib
  }

  /** To be called when the node takes commands: brings home what a predecessor left, and minds the disk. */
  start(): void {
    this.#timers.push(
      setInterval(() => void this.#look(), LOOK_MS),
      setInterval(() => void this.#salvage(), SALVAGE_MS),
    )
    void this.#look()
    void this.#salvage()
    void sweepWorkplaces()
  }

  onModuleDestroy(): void {
    for (const timer of this.#timers) clearInterval(timer)
    this.#leaving.abort(new Error('the media node ends'))
  }

  /** Ends all jobs in order and waits that long for their files to arrive; what remains is for who comes after. */
  async finishAll(withinMs: number): Promise<void> {
    const timer = setTimeout(() => this.#leaving.abort(new Error('the media node ends')), withinMs)
    const jobs = [...this.#jobs.values()]
    for (const job of jobs) if (job instanceof Job) job.end('the media node ends')
    await Promise.all(jobs.map((job) => job.done))
    clearTimeout(timer)
  }

  async startRecording(call: NodeCommandCall<'startRecording'>): Answer<'startRecording'> {
    const there = this.#jobs.get(keyOf(call))
    if (there instanceof Job) return there.started
    if (there) throw new ServiceError('CONFLICT', `part ${call.part} of recording ${call.recordingId} has ended`)
    const room = this.#room(call)
    const factory = recorderFor(call.output.kind)
    if (this.#usable && !hasSlots(this.slots, slotsOf(call)))
      throw new ServiceError('NO_CAPACITY', 'the media node has no slot for a recording')
    const job = new Job(this.#environment(call), call, room, factory, () => this.#folder.require())
    this.#add(job)
    return job.started
  }

  async stopRecording(call: NodeCommandCall<'stopRecording'>): Answer<'stopRecording'> {
    const job = this.#jobs.get(keyOf(call))
    if (!job) {
      const what = `part ${call.part} of recording ${call.recordingId} is not made here`
      throw new ServiceError('NOT_FOUND', what, { subject: 'recording' })
    }
    if (job instanceof Job) job.end()
    return {}
  }

  get #recording(): Job[] {
    return [...this.#jobs.values()].filter((job) => job instanceof Job).filter(({ state }) => state !== 'delivering')
  }

  get #delivering(): number {
    return this.#jobs.size - this.#recording.length
  }

  #room({ roomId, epoch }: NodeCommandCall<'startRecording'>): Room {
    const room = this.media.rooms.get(roomId)
    if (room.epoch === epoch) return room
    throw new ServiceError('CONFLICT', `room ${roomId} is of epoch ${room.epoch} here`)
  }

  #environment(part: Parameters<RecordingsFolder['ofJob']>[0]): JobEnvironment {
    return {
      folder: this.#folder.ofJob(part),
      signal: this.#leaving.signal,
      tell: async (ended) => void (await this.facts.send({ kind: 'recordingEnded', ended })),
    }
  }

  #add(job: Delivering): void {
    const key = keyOf(job.job)
    this.#jobs.set(key, job)
    void this.#remove(key, job)
  }

  async #remove(key: string, job: Delivering): Promise<void> {
    const end = await job.done
    this.#jobs.delete(key)
    if (end !== 'left') this.#ended.inc({ result: end })
  }

  async #look(): Promise<void> {
    if (this.#looking) return
    this.#looking = true
    await this.#lookAtDisk().catch((err: unknown) => this.#logger.warn({ err }, 'the recordings folder is not seen'))
    this.#looking = false
  }

  /** One recording after the other is ended, in order, as long as the disk is full: the youngest goes first. */
  async #lookAtDisk(): Promise<void> {
    const problem = await this.#folder.problem()
    if (problem !== undefined && this.#usable) this.#logger.error({ folder: this.#folder.path }, problem)
    this.#usable = problem === undefined
    const last = this.#recording.at(-1)
    if (!last || !(await this.#folder.isFull())) return
    this.#logger.error({ recordingId: last.job.recordingId }, `${DISK_FULL}: a recording is ended`)
    last.end(DISK_FULL)
  }

  async #salvage(): Promise<void> {
    for (const folder of await this.#folder.jobFolders()) {
      if (this.#leaving.signal.aborted) return
      if ([...this.#jobs.values()].some((job) => job.folder === folder)) continue
      const notes = await salvageable(folder).catch((err: unknown) => {
        this.#logger.warn({ err, folder }, 'what was recorded there can not be brought home')
        return undefined
      })
      if (!notes || this.#jobs.has(keyOf(notes.job))) continue
      this.#logger.warn({ folder }, 'a recording of a media node that died is brought home')
      this.#add(new Delivering(this.#environment(notes.job), notes))
    }
  }
}

const keyOf = ({ recordingId, part }: { recordingId: string; part: number }): string => `${recordingId}.${part}`
