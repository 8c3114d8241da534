import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { LocationsService } from './location/locations.service.js'
import { ParticipationService } from './participation.service.js'
import { PlacementModule } from '../placement/placement.module.js'
import { RecordingLifecycleModule } from '../recordings/lifecycle/recording-lifecycle.module.js'
import { RecoveryModule } from '../recovery/recovery.module.js'
import { SessionsModule } from '../sessions/sessions.module.js'
import { StreamsModule } from '../streams/streams.module.js'

/** Joins, resumes and evicts participants. */
@Module({
  imports: [
    ConnectionsModule,
    MediaNodesModule,
    PlacementModule,
    RecordingLifecycleModule,
    RecoveryModule,
    SessionsModule,
    StreamsModule,
  ],
  providers: [LocationsService, ParticipationService],
  exports: [ParticipationService],
})
export class ParticipationModule {}
