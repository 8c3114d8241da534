import { ServiceError } from '@session-service/contract'
import { metrics } from '@session-service/server-kit'
import { Injectable, Logger, type OnModuleDestroy } from '@nestjs/common'
import { RecordingStore } from '../storage/recording-store.js'
import { LOST_WITH_ITS_NODE } from '../repository/recording-reads.js'
import { RecordingRepository, type RecordingRow } from '../repository/recording.repository.js'

const RENEW_CLAIM_MS = 10_000
/** What could not be done is tried again after so many seconds; a file for other than passing causes so often. */
const RETRY_S = 5
const MOST_ATTEMPTS = 3

interface Task {
  abort: AbortController
  done: Promise<void>
}

/** Makes the files of recordings that have ended, each at one master, and removes those of deleted ones. */
@Injectable()
export class RecordingFinalizer implements OnModuleDestroy {
  private readonly logger = new Logger(RecordingFinalizer.name)
  private readonly tasks = new Map<string, Task>()
  /** No file is made here any more. */
  isStopping = false
  private readonly finished = metrics.counter('recordings_finished_total', {
    help: 'Recordings that came to their end, by what became of them',
    labels: { result: ['ready', 'failed'] },
  })

  constructor(
    private readonly recordings: RecordingRepository,
    private readonly files: RecordingStore,
  ) {}

  async onModuleDestroy(): Promise<void> {
    this.isStopping = true
    for (const { abort } of this.tasks.values()) abort.abort()
    await Promise.all([...this.tasks.values()].map(({ done }) => done))
  }

  /** Begins to make its file, unless another master does. */
  make(id: string): void {
    this.begin(id, (abort) => this.assemble(id, abort))
  }

  /** Begins to remove what is left of a deleted one. */
  clear(row: RecordingRow): void {
    this.begin(row.id, () => this.removeLeft(row))
  }

  /** Removes the files of one that was deleted a moment ago. What fails is done later. */
  async remove(row: RecordingRow): Promise<void> {
    this.tasks.get(row.id)?.abort.abort()
    await this.files.remove(row)
    await this.recordings.forgetRemoved(row.id)
  }

  /** To be called by one master, every so often: delivered files that nothing is made of any more. */
  async sweep(): Promise<void> {
    const rows = await this.recordings.finished(await this.files.idsWithParts())
    for (const row of rows) await this.files.removeSpentParts(row)
  }

  private begin(id: string, act: (abort: AbortController) => Promise<void>): void {
    if (this.tasks.has(id) || this.isStopping) return
    const abort = new AbortController()
    const done = act(abort)
      .catch((error: unknown) => this.logger.warn({ err: error, recordingId: id }, 'a recording is seen to later'))
      .finally(() => this.tasks.delete(id))
    this.tasks.set(id, { abort, done })
  }

  private async removeLeft(row: RecordingRow): Promise<void> {
    try {
      await this.remove(row)
    } catch (error) {
      await this.recordings.removeLater(row.id, RETRY_S)
      throw error
    }
  }

  private async assemble(id: string, abort: AbortController): Promise<void> {
    const row = await this.recordings.claim(id)
    if (!row) return
    const renewal = setInterval(() => void this.renew(id, abort), RENEW_CLAIM_MS)
    try {
      await this.makeFile(row, abort.signal)
    } catch (error) {
      await this.fileFailed(row, error, abort.signal)
    } finally {
      clearInterval(renewal)
    }
  }

  private async renew(id: string, abort: AbortController): Promise<void> {
    if (!(await this.recordings.renewClaim(id).catch(() => true))) abort.abort()
  }

  private async makeFile(row: RecordingRow, signal: AbortSignal): Promise<void> {
    const parts = await this.recordings.endedParts(row.id)
    const failures = parts.flatMap(({ failure }) => failure ?? [])
    if (parts.every(({ files }) => files.length === 0) && failures.length > 0) {
      throw new ServiceError('NOT_FOUND', failures.join('; '))
    }
    const file = await this.files.assemble(row, parts, signal)
    const madeOf = parts.filter(({ files }) => files.length > 0).map(({ part }) => part)
    if (!(await this.recordings.ready(row.id, file, madeOf))) {
      // One more part has come meanwhile; or it is deleted, or another master's by now, and this changes nothing.
      return this.recordings.retryLater(row.id, 0, false)
    }
    this.finished.inc({ result: 'ready' })
    // With a part that may still come the file is made anew, of all of them.
    if (!failures.includes(LOST_WITH_ITS_NODE)) await this.files.removeSpentParts(row)
  }

  private async fileFailed(row: RecordingRow, error: unknown, { aborted }: AbortSignal): Promise<void> {
    const { id, attempts } = row
    const code = error instanceof ServiceError ? error.code : 'INTERNAL'
    const text = error instanceof Error ? error.message : String(error)
    this.logger.warn({ err: error, recordingId: id }, 'the file of a recording could not be made')
    // Cut off, it says nothing of the recording; who is the next to have it, or to remove it, begins anew.
    const isPassing = code === 'UNAVAILABLE' || code === 'NO_CAPACITY' || aborted || this.isStopping
    if (isPassing || (code !== 'NOT_FOUND' && attempts + 1 < MOST_ATTEMPTS)) {
      return this.recordings.retryLater(id, this.isStopping ? 0 : RETRY_S, !isPassing)
    }
    if (await this.recordings.failed(id, text)) this.finished.inc({ result: 'failed' })
  }
}
