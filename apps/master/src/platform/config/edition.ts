import { type CanActivate, Inject, Injectable, NotFoundException, UseGuards } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from './configuration.module.js'

@Injectable()
class PaidGuard implements CanActivate {
  constructor(@Inject(MASTER_CONFIG) private readonly config: MasterConfig) {}

  canActivate(): boolean {
    if (this.config.SERVICE_EDITION === 'ce') throw new NotFoundException('there is no such path')
    return true
  }
}

/** Marks a route or a controller that the free edition does not have: it answers 404 there. */
export const Paid = (): ReturnType<typeof UseGuards> => UseGuards(PaidGuard)
