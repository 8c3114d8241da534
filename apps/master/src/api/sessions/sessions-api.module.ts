import { Module } from '@nestjs/common'
import { CreateConnectionController } from './create-connection.controller.js'
import { SessionsController } from './sessions.controller.js'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { IpCamerasModule } from '../../ip-cameras/ip-cameras.module.js'
import { SessionsModule } from '../../sessions/sessions.module.js'

/** The REST interface of sessions. */
@Module({
  imports: [ConnectionsModule, IpCamerasModule, SessionsModule],
  controllers: [SessionsController, CreateConnectionController],
})
export class SessionsApiModule {}
