import type { OverrideListView } from '@session-service/contract'
import { Controller, Delete, Get, HttpCode, Inject } from '@nestjs/common'
import { API_PREFIX } from '../../platform/http/api.js'
import { PathParam } from '../../platform/http/parsing/parameters.js'
import {
  type ConfigOrigin,
  CONFIG_ORIGIN,
  MASTER_CONFIG,
  type MasterConfig,
} from '../../platform/config/configuration.module.js'
import { overrideListView } from './configuration.view.js'
import { Paid } from '../../platform/config/edition.js'
import { RestartService } from './restart.service.js'

/** Lists and removes the overrides that restarts have set. */
@Controller(`${API_PREFIX}/config/overrides`)
@Paid()
export class OverridesController {
  constructor(
    private readonly restarts: RestartService,
    @Inject(CONFIG_ORIGIN) private readonly origin: ConfigOrigin,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @Get()
  list(): OverrideListView {
    return overrideListView(Object.keys(this.origin.overrides.values), this.config)
  }

  @Delete()
  @HttpCode(204)
  dropAll(): Promise<void> {
    return this.restarts.drop()
  }

  @Delete(':property')
  @HttpCode(204)
  drop(@PathParam('property') name: string): Promise<void> {
    return this.restarts.drop(name)
  }
}
