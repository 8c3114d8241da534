import { Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { PeriodicRead, type PeriodicReader } from '../../platform/jobs/periodic-read.js'

/**
 * Whether sessions may be recorded. With SERVICE_RECORDING off, recordings from before its change still run: the
 * statements about them are sent only while there are any.
 */
@PeriodicRead()
@Injectable()
export class RecordingPresence implements PeriodicReader {
  readonly periodicRead: string
  /** Until the first read there may be some. */
  #areLive = true

  constructor(@Inject(MASTER_CONFIG) private readonly config: Pick<MasterConfig, 'SERVICE_RECORDING'>) {
    const areLive = `EXISTS (SELECT 1 FROM recording r WHERE r.status IN ('starting', 'started'))`
    // With SERVICE_RECORDING nothing depends on it.
    this.periodicRead = `SELECT 1 AS live WHERE ${config.SERVICE_RECORDING ? 'false' : areLive}`
  }

  get mayExist(): boolean {
    return this.config.SERVICE_RECORDING || this.#areLive
  }

  receive(rows: readonly object[]): void {
    this.#areLive = rows.length > 0
  }
}
