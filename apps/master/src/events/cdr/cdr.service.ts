import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { CdrFile } from './cdr-file.js'
import { EventLog } from '../event-log.js'
import { OutboxRepository } from '../outbox.repository.js'

/** Interval of reading the outbox, ms: for events of other masters. */
const POLL_EVERY_MS = 1_000
/** Lines written per transaction. */
const BATCH = 500

/** Writes call records, one master at a time. They stay in the outbox while the folder cannot be written. */
@Injectable()
export class CdrService implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(CdrService.name)
  readonly #file: CdrFile
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> | undefined
  #isStopping = false

  constructor(
    private readonly outbox: OutboxRepository,
    private readonly events: EventLog,
    private readonly clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#file = new CdrFile(config.SERVICE_CDR_PATH)
  }

  onApplicationBootstrap(): void {
    if (!this.config.SERVICE_CDR) return
    this.events.onRecorded(() => this.#poll())
    this.#poll()
  }

  async onModuleDestroy(): Promise<void> {
    this.#isStopping = true
    clearTimeout(this.#timer)
    await this.#writing
    await this.#file.close()
  }

  #poll(): void {
    if (this.#writing || this.#isStopping) return
    clearTimeout(this.#timer)
    this.#writing = this.#writeAll().finally(() => {
      this.#writing = undefined
      if (!this.#isStopping) this.#timer = setTimeout(() => this.#poll(), POLL_EVERY_MS)
    })
  }

  async #writeAll(): Promise<void> {
    try {
      let written = BATCH
      while (written === BATCH && !this.#isStopping) {
        written = await this.outbox.takeCallRecords(BATCH, (events) =>
          this.#file.append(
            events.map(({ name, payload }) => `{${JSON.stringify(name)}:${payload}}`),
            new Date(this.clock.now()),
          ),
        )
      }
    } catch (error) {
      this.#logger.error({ err: error }, 'writing call records failed, will retry')
    }
  }
}
