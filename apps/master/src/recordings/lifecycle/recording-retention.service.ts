import { metrics } from '@session-service/server-kit'
import { Inject, Injectable, Logger } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { Job, type JobRun } from '../../platform/jobs/job.js'
import { RecordingFinalizer } from '../finalize/recording-finalizer.service.js'
import { RecordingRemovals, type RetentionBounds } from '../repository/recording-removals.js'

const EVERY_MS = 60_000
/** Bounds of one run: each recording takes a transaction, each removal also deletes files. */
const ANNOUNCED_IN_A_RUN = 500
const REMOVED_IN_A_RUN = 100
const HOUR_S = 3_600

/** Announces and deletes the oldest finished recordings beyond the configured age and total size. */
@Injectable()
export class RecordingRetention {
  readonly #logger = new Logger(RecordingRetention.name)
  readonly #removed = metrics.counter('recordings_expired_total', {
    help: 'Recordings that the retention deleted, by reason',
    labels: { reason: ['age', 'totalSize'] },
  })

  constructor(
    private readonly removals: RecordingRemovals,
    private readonly finalizer: RecordingFinalizer,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  /** Also runs without bounds: an announcement must not be old when they are configured again. */
  @Job({
    name: 'recording retention',
    scope: 'leader',
    everyMs: ({ SERVICE_RECORDING }) => (SERVICE_RECORDING ? EVERY_MS : undefined),
    isSlow: true,
  })
  async enforce({ isStopping }: Pick<JobRun, 'isStopping'>): Promise<void> {
    const { SERVICE_RECORDING_RETENTION_DAYS: days, SERVICE_RECORDING_RETENTION_SIZE: mebibytes } = this.config
    const bounds = { days, mebibytes }
    await this.removals.withdraw(bounds)
    if (days === 0 && mebibytes === 0) return
    await this.#announce(bounds, isStopping)
    await this.#remove(bounds, isStopping)
  }

  async #announce(bounds: RetentionBounds, isStopping: () => boolean): Promise<void> {
    const seconds = this.config.SERVICE_RECORDING_RETENTION_NOTICE * HOUR_S
    for (const expired of await this.removals.unannounced(bounds, ANNOUNCED_IN_A_RUN)) {
      if (isStopping()) return
      await this.removals.announce(expired, seconds)
    }
  }

  async #remove(bounds: RetentionBounds, isStopping: () => boolean): Promise<void> {
    for (const expired of await this.removals.due(bounds, REMOVED_IN_A_RUN)) {
      if (isStopping()) return
      const row = await this.removals.removeAnnounced(expired)
      if (!row) continue
      this.#removed.inc({ reason: expired.reason })
      await this.finalizer.remove(row).catch((error: unknown) => {
        // The row is marked as deleted: the reconciliation removes its files.
        this.#logger.warn({ err: error, recordingId: row.id }, 'removing the files of the recording failed, will retry')
      })
    }
  }
}
