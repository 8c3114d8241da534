import { type CanActivate, Inject, Injectable, NotFoundException, UseGuards } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from './configuration.module.js'

export const isPaid = ({ SERVICE_EDITION }: Pick<MasterConfig, 'SERVICE_EDITION'>): boolean => SERVICE_EDITION !== 'ce'

/** Whether the streams of a connection are recorded: the free edition records every connection. */
export const isRecorded = (config: Pick<MasterConfig, 'SERVICE_EDITION'>, record: boolean): boolean =>
  !isPaid(config) || record

@Injectable()
class PaidGuard implements CanActivate {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  canActivate(): boolean {
    if (!isPaid(this.config)) throw new NotFoundException('there is no such path')
    return true
  }
}

/** Marks a route or a controller that the free edition does not have: it answers 404 there. */
export const Paid = (): ReturnType<typeof UseGuards> => UseGuards(PaidGuard)
