import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { LocationModule } from './location/location.module.js'
import { Arrivals } from './arrivals.js'
import { JoinService } from './join.service.js'
import { ParticipantPresence } from './participant-presence.js'
import { RoomEntry } from './room-entry.js'
import { SessionSnapshots } from './session-snapshots.js'
import { PlacementModule } from '../placement/placement.module.js'
import { RecordingLifecycleModule } from '../recordings/lifecycle/recording-lifecycle.module.js'
import { RecoveryModule } from '../recovery/recovery.module.js'
import { SessionsModule } from '../sessions/sessions.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { StreamsModule } from '../streams/streams.module.js'

/** Joins, resumes and evicts participants. */
@Module({
  imports: [
    ConnectionsModule,
    LocationModule,
    MediaNodesModule,
    PlacementModule,
    RecordingLifecycleModule,
    RecoveryModule,
    SessionsModule,
    SpeechToTextModule,
    StreamsModule,
  ],
  providers: [Arrivals, JoinService, RoomEntry, ParticipantPresence, SessionSnapshots],
  exports: [Arrivals, JoinService, RoomEntry, ParticipantPresence, SessionSnapshots],
})
export class ParticipationModule {}
