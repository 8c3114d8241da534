import { ServiceError } from '@session-service/contract'
import { messageOf, metrics } from '@session-service/server-kit'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { RecordedSentences } from './recorded-sentences.service.js'
import { RecordingStore } from '../storage/recording-store.js'
import { RecordingClaims } from '../repository/recording-claims.js'
import { RecordingParts } from '../repository/recording-parts.js'
import { RecordingQueries } from '../repository/recording-queries.js'
import { LOST_NODE_FAILURE, type RecordingRow } from '../repository/recording-row.js'
import { RecordingTransitions } from '../repository/recording-transitions.js'
import { TaskQueue, type TaskQueueOptions, type TaskResult } from './task-queue.js'

const RENEW_CLAIM_MS = 10_000
/** The delay before the next attempt, s. */
const RETRY_S = 5
/** Attempts to make a file; failures that pass, such as a full disk, do not count. */
const MAX_ATTEMPTS = 3
/** Uploads to an object storage need 15 MiB each, and a long one must not delay all others. */
const TASKS_AT_ONCE = 8
/** Fewer failures in a row may be those of single recordings. */
const TOLERATED_FAILURES = 3
const QUEUE: TaskQueueOptions = { limit: TASKS_AT_ONCE, tolerated: TOLERATED_FAILURES, restMs: RETRY_S * 1_000 }

/** Makes the files of recordings that have ended, each on one master, and removes the files of deleted recordings. */
@Injectable()
export class RecordingFinalizer implements OnModuleDestroy {
  readonly #logger = new Logger(RecordingFinalizer.name)
  readonly #files = new TaskQueue(QUEUE)
  /** Apart: a storage that refuses to remove files may well take others. */
  readonly #removals = new TaskQueue(QUEUE)
  /** This master starts no more tasks. */
  isStopping = false
  readonly #finished = metrics.counter('recordings_finished_total', {
    help: 'Finished recordings, by result',
    labels: { result: ['ready', 'failed'] },
  })

  constructor(
    private readonly queries: RecordingQueries,
    private readonly transitions: RecordingTransitions,
    private readonly claims: RecordingClaims,
    private readonly parts: RecordingParts,
    private readonly store: RecordingStore,
    private readonly sentences: RecordedSentences,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    await Promise.all([this.#files.close(), this.#removals.close()])
  }

  /** Whether a task of the recording waits or runs. */
  isBusyWith(id: string): boolean {
    return this.#files.has(id) || this.#removals.has(id)
  }

  /** Makes the file of a recording in the background, unless another master does. */
  finalize(id: string): void {
    this.#files.add(id, (abort) =>
      this.#claimAndFinalize(id, abort).catch((error: unknown) => this.#failed(id, 'finalizing the recording', error)),
    )
  }

  /** Removes the remaining files of a deleted recording in the background. */
  resumeRemoval(id: string): void {
    this.#removals.add(id, () =>
      this.#removeOrRetryLater(id).catch((error: unknown) =>
        this.#failed(id, 'removing the files of the recording', error),
      ),
    )
  }

  /** Removes the files of a recording that has just been deleted. After a failure a master tries again later. */
  async remove(row: RecordingRow): Promise<void> {
    this.#files.abort(row.id)
    await this.store.remove(row)
    await this.claims.deleteRemoved(row.id)
  }

  /** Removes delivered files of which no file will be made any more. To be called by one master. */
  async removeSpentParts(): Promise<void> {
    const rows = await this.queries.complete(await this.store.idsWithParts())
    for (const row of rows) await this.store.removeSpentParts(row)
  }

  #failed(id: string, what: string, error: unknown): TaskResult {
    this.#logger.warn({ err: error, recordingId: id }, `${what} failed, will retry`)
    return 'unavailable'
  }

  async #removeOrRetryLater(id: string): Promise<TaskResult> {
    // While the task waited, another removal may have succeeded, after which a new recording can have the id.
    const row = await this.queries.findRemoved(id)
    if (!row) return 'other'
    try {
      await this.remove(row)
      return 'succeeded'
    } catch (error) {
      await this.claims.removeLater(id, RETRY_S)
      throw error
    }
  }

  async #claimAndFinalize(id: string, abort: AbortController): Promise<TaskResult> {
    const row = await this.claims.claim(id)
    if (!row) return 'other'
    const renewal = setInterval(() => void this.#renew(id, abort), RENEW_CLAIM_MS)
    try {
      await this.#makeFile(row, abort.signal)
      return 'succeeded'
    } catch (error) {
      return await this.#fileFailed(row, error, abort.signal)
    } finally {
      clearInterval(renewal)
    }
  }

  async #renew(id: string, abort: AbortController): Promise<void> {
    if (!(await this.claims.renew(id).catch(() => true))) abort.abort()
  }

  async #makeFile(row: RecordingRow, signal: AbortSignal): Promise<void> {
    const parts = await this.parts.ended(row.id)
    const failures = parts.flatMap(({ failure }) => failure ?? [])
    if (parts.every(({ files }) => files.length === 0) && failures.length > 0) {
      throw new ServiceError('NOT_FOUND', failures.join('; '))
    }
    const file = await this.store.assemble(row, parts, signal, await this.sentences.of(row, parts, signal))
    const madeOf = parts.filter(({ files }) => files.length > 0).map(({ part }) => part)
    if (!(await this.transitions.markReady(row.id, file, madeOf))) {
      // Another part has come: try again. If the recording is deleted or claimed by another master, this has no effect.
      return this.claims.retryLater(row.id, { seconds: 0, isCounted: false })
    }
    this.#finished.inc({ result: 'ready' })
    // A lost media node may still deliver its part: the file is then made again, of all parts.
    if (!failures.includes(LOST_NODE_FAILURE)) await this.store.removeSpentParts(row)
  }

  async #fileFailed(row: RecordingRow, error: unknown, { aborted }: AbortSignal): Promise<TaskResult> {
    const { id, attempts } = row
    const code = error instanceof ServiceError ? error.code : 'INTERNAL'
    const text = messageOf(error)
    const isUnavailable = code === 'UNAVAILABLE' || code === 'NO_CAPACITY'
    // An aborted attempt says nothing about the recording.
    const isTransient = isUnavailable || aborted || this.isStopping
    if (isTransient || (code !== 'NOT_FOUND' && attempts + 1 < MAX_ATTEMPTS)) {
      this.#logger.warn({ err: error, recordingId: id }, 'finalizing the recording failed, will retry')
      await this.claims.retryLater(id, { seconds: this.isStopping ? 0 : RETRY_S, isCounted: !isTransient })
      return isUnavailable && !aborted ? 'unavailable' : 'other'
    }
    this.#logger.warn({ err: error, recordingId: id }, 'finalizing the recording failed')
    if (await this.transitions.markFailed(id, text)) this.#finished.inc({ result: 'failed' })
    return 'other'
  }
}
