import { ServiceError } from '@session-service/contract'
import { type CanActivate, Inject, Injectable } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'

/** Answers every request with 501 while recording is disabled, also an invalid one. */
@Injectable()
export class RecordingEnabled implements CanActivate {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  canActivate(): boolean {
    if (this.config.SERVICE_RECORDING) return true
    throw new ServiceError('DISABLED', 'recording is switched off (SERVICE_RECORDING)')
  }
}
