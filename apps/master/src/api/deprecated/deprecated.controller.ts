import { CreateTokenBody, SendSignalBody } from '@session-service/contract'
import { Body, Controller, Get, HttpCode, Inject, Post, UseGuards } from '@nestjs/common'
import { MASTER_CONFIG, type MasterConfig } from '../../platform/config/configuration.module.js'
import { configurationView, mediaserverUris } from '../configuration/configuration.view.js'
import { parsed } from '../../platform/http/parsing/parsed.js'
import { MediaNodesService } from '../../media-nodes/media-nodes.service.js'
import { SignalsService } from '../../signals/signals.service.js'
import { ConnectionsService } from '../../connections/connections.service.js'
import { type LegacyToken, legacyToken } from './legacy-views.js'
import { WarnDeprecated } from './warn-deprecated.js'

@Controller()
@UseGuards(WarnDeprecated)
export class DeprecatedController {
  constructor(
    private readonly connections: ConnectionsService,
    private readonly signals: SignalsService,
    private readonly mediaNodes: MediaNodesService,
    @Inject(MASTER_CONFIG) private readonly config: MasterConfig,
  ) {}

  @Post('api/tokens')
  @HttpCode(200)
  async createToken(@Body(parsed(CreateTokenBody)) body: CreateTokenBody): Promise<LegacyToken> {
    return legacyToken(await this.connections.createToken(body))
  }

  @Post('api/signal')
  @HttpCode(200)
  signal(@Body(parsed(SendSignalBody)) body: SendSignalBody): Promise<void> {
    return this.signals.sendFromServer(body)
  }

  /** Shows the media servers in all editions; the current path shows them in the paid ones only. */
  @Get('config')
  configuration(): ReturnType<typeof configurationView> {
    const uris = mediaserverUris(this.config, this.mediaNodes.connected())
    return { ...configurationView(this.config, uris), MEDIASERVER_URIS: uris }
  }
}
