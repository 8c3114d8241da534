import { Controller, Get, Inject } from '@nestjs/common'
import { API_PREFIX } from '../../platform/http/api.js'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { configurationView, mediaserverUris } from './configuration.view.js'

@Controller(`${API_PREFIX}/config`)
export class ConfigurationController {
  constructor(
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
    private readonly mediaNodes: MediaNodesService,
  ) {}

  @Get()
  get(): ReturnType<typeof configurationView> {
    return configurationView(this.config, mediaserverUris(this.config, this.mediaNodes.connected()))
  }
}
