import { Module } from '@nestjs/common'
import { DeprecatedRecordingsController } from './deprecated-recordings.controller.js'
import { DeprecatedSessionsController } from './deprecated-sessions.controller.js'
import { DeprecatedController } from './deprecated.controller.js'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { IpCamerasModule } from '../../ip-cameras/ip-cameras.module.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { RecordingsModule } from '../../recordings/api/recordings.module.js'
import { SessionsModule } from '../../sessions/sessions.module.js'
import { SignalsModule } from '../../signals/signals.module.js'
import { StreamsModule } from '../../streams/streams.module.js'

/** The paths before `/service/api`; imported only while SUPPORT_DEPRECATED_API is on. */
@Module({
  imports: [
    ConnectionsModule,
    IpCamerasModule,
    MediaNodesModule,
    RecordingsModule,
    SessionsModule,
    SignalsModule,
    StreamsModule,
  ],
  controllers: [DeprecatedSessionsController, DeprecatedRecordingsController, DeprecatedController],
})
export class DeprecatedModule {}
