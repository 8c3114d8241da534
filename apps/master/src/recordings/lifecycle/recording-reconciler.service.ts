import type { RecordingEnded, RecordingStopReason, RunningJob } from '@session-service/contract'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { Job, type JobRun } from '../../platform/jobs/job.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { NodeCommands } from '../../media-nodes/node-commands.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import type { PartSnapshot } from '../repository/recording-snapshot.js'
import { nextStep, type Step } from './next-step.js'
import { RetryDelays } from './retry-delays.js'
import { RecordingFinalizer } from '../finalize/recording-finalizer.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { RecordingStarter } from './recording-starter.service.js'
import { RecordingParts } from '../repository/recording-parts.js'
import {
  type OverdueRow,
  RecordingQueries,
  RECORDINGS_TO_RECONCILE,
  type ReconciledPart,
  type ReconciledRow,
} from '../repository/recording-queries.js'
import { LOST_NODE_FAILURE, type RecordingRow } from '../repository/recording-row.js'
import { RecordingTransitions } from '../repository/recording-transitions.js'
import { type SessionEndHandler, SessionEndHook } from '../../sessions/session-end-hooks.js'

const STRAYS_EVERY_MS = 10_000
const LOST_PARTS_EVERY_MS = 600_000
/** A part that its media node has not listed for this long is lost, ms; longer when the node sends no heartbeats. */
const UNLISTED_MS = 10_000
const SILENT_MS = 20_000
/** A media node need not list a part before it has answered the start, ms. */
const START_MS = 38_000
/** The pause between two requests to stop the same part, ms. */
const REPEAT_STOP_MS = 3_000
/** Notes of unlisted parts that are older than this are discarded, ms. */
const STALE_MS = 3_000
/** A media node that returns within a day adds its files to recordings that were finished without them, s. */
const LOST_PARTS_S = 86_400

/**
 * Drives every recording to its end. It reads only the database and the heartbeats, so that any master finishes what a
 * master that died has left.
 */
@Injectable()
@SessionEndHook()
export class RecordingReconciler implements OnModuleDestroy, SessionEndHandler {
  readonly #logger = new Logger(RecordingReconciler.name)
  readonly #running = new Map<string, Promise<void>>()
  /** Recordings to be reconciled once more after the run in progress. */
  readonly #again = new Set<string>()
  readonly #unlistedSince = new Map<number, number>()
  #lastTickAt = -Infinity
  readonly #stopRequestedAt = new Map<number, number>()
  readonly #startDelays = new RetryDelays()
  #isStopping = false

  constructor(
    private readonly queries: RecordingQueries,
    private readonly transitions: RecordingTransitions,
    private readonly parts: RecordingParts,
    private readonly starter: RecordingStarter,
    private readonly finalizer: RecordingFinalizer,
    private readonly store: RecordingStore,
    private readonly mediaNodes: MediaNodesService,
    private readonly nodeCommands: NodeCommands,
    private readonly sessions: SessionsService,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.#isStopping = true
    await Promise.all(this.#running.values())
  }

  @Job({ name: 'recordings', scope: 'leader', everyMs: 0, due: RECORDINGS_TO_RECONCILE })
  async tick({ now }: JobRun): Promise<void> {
    const rows = await this.queries.toReconcile()
    this.#noteUnlisted(rows, now)
    this.#startDelays.keepOnly(rows.map(({ id }) => id))
    for (const overdue of await this.queries.overdue())
      await this.#stopOverdue(overdue).catch((error: unknown) => {
        this.#logger.warn({ err: error, recordingId: overdue.id }, 'stopping the recording failed, will retry')
      })
    // Only those that need a step: while a storage is unavailable, thousands may wait for it.
    const recorded = this.#recordedParts()
    for (const row of rows) if (this.#stepOf(row, recorded).kind !== 'wait') void this.#reconcile(row.id)
  }

  /** Stops what media nodes record without a row, and discards what they compose or deliver of deleted recordings. */
  @Job({ name: 'stray recordings', scope: 'leader', everyMs: STRAYS_EVERY_MS })
  async stopStrays(): Promise<void> {
    const jobs = this.mediaNodes.live().flatMap((node) => node.jobs.map((job) => ({ nodeId: node.nodeId, job })))
    const partsOf = (some: typeof jobs): number[] => some.map(({ job }) => job.part)
    const expected = await this.parts.toRecord(partsOf(jobs.filter(({ job }) => !isRecorded(job))))
    const existing = await this.parts.existing(partsOf(jobs.filter(({ job }) => isRecorded(job))))
    for (const { nodeId, job } of jobs) {
      const { recordingId, part } = job
      const discard = isRecorded(job)
      if ((discard ? existing : expected).has(part)) continue
      await this.nodeCommands.notify({ nodeId }, 'stopRecording', { recordingId, part, ...(discard && { discard }) })
    }
  }

  /** Ends the wait for parts whose media node did not return in time, and removes files that are no longer needed. */
  @Job({ name: 'lost recording parts', scope: 'leader', everyMs: LOST_PARTS_EVERY_MS, isSlow: true })
  async expireLostParts(): Promise<void> {
    await this.parts.expireLost(LOST_PARTS_S)
    await this.finalizer.removeSpentParts()
  }

  /** Takes the report of a media node. Idempotent, because reports are repeated until a master has answered. */
  async partEnded(report: RecordingEnded): Promise<void> {
    // The folder of a deleted recording is gone, and the description with it.
    const isReadable = report.description !== undefined && (await this.parts.exists(report.part))
    const ended = isReadable ? await this.store.readDescription(report) : report
    const row = await this.transitions.endPart(ended, { isOnlyOpen: false })
    if (row) void this.#reconcile(row.id)
  }

  async #stopOverdue({ id, uniqueSessionId, isEmpty }: OverdueRow): Promise<void> {
    if (isEmpty) await this.sessions.closeEmpty(uniqueSessionId, 'automaticStop')
    await this.stop(id, 'automaticStop')
  }

  /** Undefined when it is not `started`, or, for `automaticStop`, when a participant publishes again. */
  async stop(id: string, reason: RecordingStopReason): Promise<RecordingRow | undefined> {
    const stopped =
      reason === 'automaticStop' ? await this.transitions.stopOverdue(id) : await this.transitions.stop(id, reason)
    if (!stopped) return undefined
    await this.starter.notifyStopped(stopped, reason)
    await this.stopped([id])
    return stopped
  }

  async stopped(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.#reconcile(id)))
  }

  /**
   * Takes the next step of the recording; runs of one recording never overlap. Resolves when the step is taken; files
   * are made and removed in the background. It never rejects: a step that fails is repeated by the next tick.
   */
  #reconcile(id: string): Promise<void> {
    const inProgress = this.#running.get(id)
    if (inProgress) {
      this.#again.add(id)
      return inProgress
    }
    const run = this.#takeStep(id)
      .catch((error: unknown) => {
        this.#logger.warn({ err: error, recordingId: id }, 'reconciling the recording failed, will retry')
      })
      .finally(() => {
        this.#running.delete(id)
        if (this.#again.delete(id) && !this.#isStopping) void this.#reconcile(id)
      })
    this.#running.set(id, run)
    return run
  }

  async #takeStep(id: string): Promise<void> {
    const [row] = await this.queries.toReconcile(id)
    if (!row || this.#isStopping) return
    const step = this.#stepOf(row, this.#recordedParts())
    switch (step.kind) {
      case 'wait':
        return
      case 'failStart':
        for (const { part, nodeId } of row.parts) {
          await this.starter.failStart({ recording: row, part, place: { nodeId } }, 'its start was not finished')
        }
        return
      case 'addPart':
        return this.#addPart(id, step.after)
      case 'stop':
        return this.#stopAndRepeat(id, step.reason)
      case 'requestStop':
        await Promise.all(step.parts.map((part) => this.#requestStop(id, part)))
        return
      case 'abandonParts':
        return this.#abandon(id, step.parts)
      case 'finalize':
        this.finalizer.finalize(id)
        // The session may have been kept for this recording alone, and the recording have ended without a stop.
        if (row.hasSession) await this.sessions.closeEmpty(row.uniqueSessionId, 'lastParticipantLeft')
        return
      case 'removeFiles':
        this.finalizer.resumeRemoval(id)
    }
  }

  #stepOf(row: ReconciledRow, recorded: ReadonlySet<number>): Step {
    const parts = row.parts.map((part) => ({
      ...part,
      isLost: this.#isLost(part),
      isRecorded: recorded.has(part.part),
    }))
    const step = nextStep({ ...row, parts, epoch: this.#isUp(row) ? row.epoch : null })
    const isOfFinalizer = step.kind === 'finalize' || step.kind === 'removeFiles'
    return isOfFinalizer && this.finalizer.isBusyWith(row.id) ? { kind: 'wait' } : step
  }

  async #addPart(id: string, after: number): Promise<void> {
    if (!this.#startDelays.isDue(id)) return
    const added = await this.transitions.addPart(id, after)
    if (added) this.#startDelays.note(id, await this.starter.startPart(added))
  }

  /** As `stop`, within a run: the parts are stopped by the next run. */
  async #stopAndRepeat(id: string, reason: RecordingStopReason): Promise<void> {
    const stopped = await this.transitions.stop(id, reason)
    if (stopped) await this.starter.notifyStopped(stopped, reason)
    this.#again.add(id)
  }

  async #requestStop(recordingId: string, { part, nodeId }: PartSnapshot): Promise<void> {
    const now = performance.now()
    if (now - (this.#stopRequestedAt.get(part) ?? -Infinity) < REPEAT_STOP_MS) return
    this.#stopRequestedAt.set(part, now)
    await this.nodeCommands.notify({ nodeId }, 'stopRecording', { recordingId, part })
  }

  async #abandon(recordingId: string, parts: readonly PartSnapshot[]): Promise<void> {
    for (const { part } of parts) {
      await this.transitions.endPart({ recordingId, part, files: [], failure: LOST_NODE_FAILURE })
    }
    this.#again.add(recordingId)
  }

  /** Notes which open parts no media node lists, and since when. */
  #noteUnlisted(rows: readonly ReconciledRow[], now: number): void {
    const live = this.mediaNodes.live()
    const listed = new Set(live.flatMap(({ jobs }) => jobs.map(({ part }) => part)))
    const liveIds = new Set(live.map(({ nodeId }) => nodeId))
    const open = rows.flatMap(({ parts }) => parts.filter(({ isEnded }) => !isEnded))
    // A media node whose heartbeats only another master receives may record the part.
    const isUnlisted = ({ part, ...node }: ReconciledPart): boolean =>
      !listed.has(part) && (liveIds.has(node.nodeId) || !this.mediaNodes.isAlive(node))
    const unlisted = new Set(open.filter(isUnlisted).map(({ part }) => part))
    // Ticks were missed, or another master was the leader: parts may have been listed in between.
    if (now - this.#lastTickAt > STALE_MS) this.#unlistedSince.clear()
    this.#lastTickAt = now
    for (const part of this.#unlistedSince.keys()) if (!unlisted.has(part)) this.#unlistedSince.delete(part)
    for (const part of unlisted) if (!this.#unlistedSince.has(part)) this.#unlistedSince.set(part, now)
    const openParts = new Set(open.map(({ part }) => part))
    for (const part of this.#stopRequestedAt.keys()) if (!openParts.has(part)) this.#stopRequestedAt.delete(part)
  }

  /** The parts whose media nodes record them no longer. */
  #recordedParts(): Set<number> {
    const jobs = this.mediaNodes.live().flatMap((node) => node.jobs)
    return new Set(jobs.filter(isRecorded).map(({ part }) => part))
  }

  /** True while the process that has the session's media runs: a restart loses the media. */
  #isUp({ placedOn }: ReconciledRow): boolean {
    return placedOn !== null && this.mediaNodes.lastHeartbeat(placedOn.nodeId)?.bootId === placedOn.bootId
  }

  #isLost({ part, nodeId, bootId, isEnded, isStarted, sinceRequestMs }: ReconciledPart): boolean {
    const since = this.#unlistedSince.get(part)
    if (isEnded || since === undefined || performance.now() - this.#lastTickAt > STALE_MS) return false
    const isUp = this.mediaNodes.lastHeartbeat(nodeId)?.bootId === bootId
    if (isUp && !isStarted && sinceRequestMs < START_MS) return false
    return performance.now() - since >= (isUp ? UNLISTED_MS : SILENT_MS)
  }
}

const isRecorded = ({ state }: RunningJob): boolean => state === 'composing' || state === 'delivering'
