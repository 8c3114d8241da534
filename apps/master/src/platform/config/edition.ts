import { type CanActivate, Inject, Injectable, NotFoundException, UseGuards } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from './configuration.module.js'

@Injectable()
export class PaidGuard implements CanActivate {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  canActivate(): boolean {
    if (this.config.SERVICE_EDITION === 'ce') throw new NotFoundException('there is no such path')
    return true
  }
}

/** Marks a route or a whole controller that the free edition does not have: there it answers 404. */
export const Paid = (): ReturnType<typeof UseGuards> => UseGuards(PaidGuard)
