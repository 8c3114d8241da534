import { Module } from '@nestjs/common'
import { SessionsController } from './sessions.controller.js'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { SessionsModule } from '../../sessions/sessions.module.js'

/** The REST interface of sessions. */
@Module({
  imports: [ConnectionsModule, SessionsModule],
  controllers: [SessionsController],
})
export class SessionsApiModule {}
