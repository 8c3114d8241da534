import { Inject, Injectable, Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { ClusterClock } from '../../platform/database/cluster-clock.js'
import { CdrFile } from './cdr-file.js'
import { EventLog } from '../event-log.js'
import { OutboxReader } from '../outbox-reader.js'
import { OutboxRepository } from '../outbox.repository.js'

/** Writes call records, one master at a time. They stay in the outbox while the folder cannot be written. */
@Injectable()
export class CdrService implements OnApplicationBootstrap, OnModuleDestroy {
  readonly #logger = new Logger(CdrService.name)
  readonly #file: CdrFile
  readonly #reader: OutboxReader

  constructor(
    outbox: OutboxRepository,
    events: EventLog,
    clock: ClusterClock,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {
    this.#file = new CdrFile(config.SERVICE_CDR_PATH)
    this.#reader = new OutboxReader({
      outbox,
      events,
      consumer: 'cdr',
      handle: (records) =>
        this.#file.append(
          records.map(({ name, payload }) => `{${JSON.stringify(name)}:${payload}}`),
          new Date(clock.now()),
        ),
      onError: (error) => this.#logger.error({ err: error }, 'writing call records failed, will retry'),
    })
  }

  onApplicationBootstrap(): void {
    if (this.config.SERVICE_CDR) this.#reader.start()
  }

  async onModuleDestroy(): Promise<void> {
    await this.#reader.stop()
    await this.#file.close()
  }
}
