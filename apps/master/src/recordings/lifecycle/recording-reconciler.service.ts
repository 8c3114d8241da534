import type { RecordingEnded, RecordingStopReason } from '@session-service/contract'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { Job, type JobRun } from '../../platform/jobs/job.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { SessionsService } from '../../sessions/sessions.service.js'
import { BackOff } from './back-off.js'
import type { PartSnapshot } from '../repository/recording-snapshot.js'
import { nextStep } from './next-step.js'
import { RecordingFinalizer } from '../finalize/recording-finalizer.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { RecordingStarter } from './recording-starter.service.js'
import { LOST_WITH_ITS_NODE } from '../repository/recording-reads.js'
import { RecordingRepository, type RecordingRow, type UnsettledRow } from '../repository/recording.repository.js'
import { type SessionEndHandler, SessionEndHook } from '../../sessions/session-end-hooks.js'

const STRAYS_EVERY_MS = 10_000
const LOST_PARTS_EVERY_MS = 600_000
/** A part that its node does not list for so long, ms, is not recorded any more; longer if the node is not heard. */
const UNLISTED_MS = 10_000
const UNHEARD_MS = 20_000
/** Until a node has answered a start it need not list it, ms. */
const START_MS = 38_000
/** A node that was told to stop and still records is told again after this long, ms. */
const AGAIN_MS = 3_000
/** What was noted of parts that nodes do not list is of no use when nobody has looked for so long, ms. */
const STALE_MS = 3_000
/** A node that comes back within a day brings what it had recorded into files that were made without it, s. */
const LOST_PARTS_S = 86_400

/**
 * Brings every recording to its end, whoever began it. All it goes by is in the database and the heartbeats: what a
 * master that died left any other finishes.
 */
@Injectable()
@SessionEndHook()
export class RecordingReconciler implements OnModuleDestroy, SessionEndHandler {
  private readonly logger = new Logger(RecordingReconciler.name)
  private readonly underWay = new Map<string, Promise<void>>()
  private readonly again = new Set<string>()
  private readonly unlistedSince = new Map<number, number>()
  private lookedAt = -Infinity
  private readonly toldAt = new Map<number, number>()
  private readonly backOff = new BackOff()
  private isStopping = false

  constructor(
    private readonly recordings: RecordingRepository,
    private readonly maker: RecordingStarter,
    private readonly assembly: RecordingFinalizer,
    private readonly files: RecordingStore,
    private readonly mediaNodes: MediaNodesService,
    private readonly sessions: SessionsService,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    await Promise.all(this.underWay.values())
  }

  @Job({ name: 'recordings', scope: 'leader', everyMs: 0 })
  async upkeep({ now }: JobRun): Promise<void> {
    const rows = await this.recordings.unsettled()
    this.noteUnlisted(rows, now)
    this.backOff.keepOnly(rows.map(({ id }) => id))
    for (const { id, uniqueSessionId, isEmpty } of await this.recordings.overdue()) {
      if (isEmpty) await this.sessions.closeEmpty(uniqueSessionId, 'automaticStop')
      await this.stop(id, 'automaticStop')
    }
    for (const { id } of rows) this.see(id)
  }

  /** Media nodes stop recording what no row stands for. */
  @Job({ name: 'stray recordings', scope: 'leader', everyMs: STRAYS_EVERY_MS })
  async stopStrays(): Promise<void> {
    const running = this.mediaNodes
      .live()
      .flatMap(({ nodeId, jobs }) => jobs.filter(({ state }) => state !== 'delivering').map((job) => ({ nodeId, job })))
    const wanted = await this.recordings.wanted(running.map(({ job }) => job.part))
    for (const { nodeId, job } of running.filter(({ job: { part } }) => !wanted.has(part))) {
      await this.mediaNodes.tell({ nodeId }, 'stopRecording', { recordingId: job.recordingId, part: job.part })
    }
  }

  /** Ends the wait for parts whose media node did not come back in time. */
  @Job({ name: 'lost recording parts', scope: 'leader', everyMs: LOST_PARTS_EVERY_MS })
  async forgetLostParts(): Promise<void> {
    await this.recordings.forgetLostParts(LOST_PARTS_S)
    await this.assembly.sweep()
  }

  /** What a node says. Twice the same does no harm. */
  async partEnded(told: RecordingEnded): Promise<void> {
    // Of one that is deleted there is nothing to be read.
    const isRead = told.description !== undefined && (await this.recordings.hasPart(told.part))
    const ended = isRead ? await this.files.described(told) : told
    const row = await this.recordings.partEnded(ended, false)
    if (row) this.see(row.id)
  }

  /** Undefined when it is not `started`, or, for `automaticStop`, somebody publishes again. */
  async stop(id: string, reason: RecordingStopReason): Promise<RecordingRow | undefined> {
    const stopped =
      reason === 'automaticStop' ? await this.recordings.stopOverdue(id) : await this.recordings.stop(id, reason)
    if (!stopped) return undefined
    await this.maker.tellStopped(stopped, reason)
    await this.stopped([id])
    return stopped
  }

  async stopped(ids: readonly string[]): Promise<void> {
    await Promise.all(ids.map((id) => this.seeNow(id)))
  }

  /** Does what the recording needs next, in its time; what cannot be done now is done by the upkeep. */
  see(id: string): void {
    void this.seeNow(id)
  }

  /** Resolves once all is done that can be done now; files are made and removed in their own time. */
  private seeNow(id: string): Promise<void> {
    const present = this.underWay.get(id)
    if (present) {
      this.again.add(id)
      return present
    }
    const work = this.goOn(id)
      .catch((error: unknown) => this.logger.warn({ err: error, recordingId: id }, 'a recording is seen to later'))
      .finally(() => {
        this.underWay.delete(id)
        if (this.again.delete(id) && !this.isStopping) this.see(id)
      })
    this.underWay.set(id, work)
    return work
  }

  private async goOn(id: string): Promise<void> {
    const [row] = await this.recordings.unsettled(id)
    if (!row || this.isStopping) return
    const parts = row.parts.map((part) => ({ ...part, isLost: this.isLost(part) }))
    const step = nextStep({ ...row, parts, epoch: this.isUp(row) ? row.epoch : null })
    switch (step.kind) {
      case 'wait':
        return
      case 'giveUpStart':
        for (const { part, nodeId } of parts) {
          await this.maker.giveUpStart({ recording: row, part, place: { nodeId } }, 'its start was not finished')
        }
        return
      case 'continue': {
        if (!this.backOff.isOver(id)) return
        const asked = await this.recordings.nextPart(id, step.after)
        if (asked) this.backOff.note(id, await this.maker.startPart(asked))
        return
      }
      case 'stop':
        await this.stopInTurn(id, step.reason)
        return
      case 'askToStop':
        await Promise.all(step.parts.map((part) => this.askToStop(id, part)))
        return
      case 'giveUpParts':
        for (const { part } of step.parts) {
          await this.recordings.partEnded({ recordingId: id, part, files: [], failure: LOST_WITH_ITS_NODE })
        }
        this.again.add(id)
        return
      case 'assemble':
        this.assembly.make(id)
        // Kept for this recording alone, it may have ended in another way than by its time or a stop.
        if (row.hasSession) await this.sessions.closeEmpty(row.uniqueSessionId, 'lastParticipantLeft')
        return
      case 'clear':
        this.assembly.clear(row)
    }
  }

  private async stopInTurn(id: string, reason: RecordingStopReason): Promise<void> {
    const stopped = await this.recordings.stop(id, reason)
    if (stopped) await this.maker.tellStopped(stopped, reason)
    this.again.add(id)
  }

  private async askToStop(recordingId: string, { part, nodeId }: PartSnapshot): Promise<void> {
    const now = performance.now()
    if (now - (this.toldAt.get(part) ?? -Infinity) < AGAIN_MS) return
    this.toldAt.set(part, now)
    await this.mediaNodes.tell({ nodeId }, 'stopRecording', { recordingId, part })
  }

  /** Notes which open parts no node lists, and since when. */
  private noteUnlisted(rows: readonly UnsettledRow[], now: number): void {
    const live = this.mediaNodes.live()
    const listed = new Set(live.flatMap(({ jobs }) => jobs.map(({ part }) => part)))
    const heard = new Set(live.map(({ nodeId }) => nodeId))
    const open = rows.flatMap(({ parts }) => parts.filter(({ isEnded }) => !isEnded))
    // A node that only another master hears may record it.
    const isUnlisted = ({ part, ...node }: (typeof open)[number]): boolean =>
      !listed.has(part) && (heard.has(node.nodeId) || !this.mediaNodes.isHeard(node))
    const unlisted = new Set(open.filter(isUnlisted).map(({ part }) => part))
    // Another master has looked meanwhile, or none: what was unlisted then may have been listed since.
    if (now - this.lookedAt > STALE_MS) this.unlistedSince.clear()
    this.lookedAt = now
    for (const part of this.unlistedSince.keys()) if (!unlisted.has(part)) this.unlistedSince.delete(part)
    for (const part of unlisted) if (!this.unlistedSince.has(part)) this.unlistedSince.set(part, now)
    for (const part of this.toldAt.keys()) if (!open.some((one) => one.part === part)) this.toldAt.delete(part)
  }

  /** Whether the node that has the session's media runs as it did then: after its restart the media is lost. */
  private isUp({ placedOn }: UnsettledRow): boolean {
    return placedOn !== null && this.mediaNodes.heard(placedOn.nodeId)?.bootId === placedOn.bootId
  }

  private isLost({ part, nodeId, bootId, isEnded, isStarted, askedForMs }: UnsettledRow['parts'][number]): boolean {
    const since = this.unlistedSince.get(part)
    if (isEnded || since === undefined || performance.now() - this.lookedAt > STALE_MS) return false
    const isUp = this.mediaNodes.heard(nodeId)?.bootId === bootId
    if (isUp && !isStarted && askedForMs < START_MS) return false
    return performance.now() - since >= (isUp ? UNLISTED_MS : UNHEARD_MS)
  }
}
