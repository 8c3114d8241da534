import { Module } from '@nestjs/common'
import { ConfigurationController } from './configuration.controller.js'
import { OverridesController } from './overrides.controller.js'
import { RestartController } from './restart.controller.js'
import { RestartService } from './restart.service.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { SessionsModule } from '../../sessions/sessions.module.js'
import { SocketsModule } from '../../signalling/sockets/sockets.module.js'

/** The configuration in force, its overrides, and the restart that changes them. */
@Module({
  imports: [MediaNodesModule, SessionsModule, SocketsModule],
  controllers: [ConfigurationController, OverridesController, RestartController],
  providers: [RestartService],
})
export class RestartModule {}
