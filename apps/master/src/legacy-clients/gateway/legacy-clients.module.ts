import { Module } from '@nestjs/common'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { ParticipationModule } from '../../participation/participation.module.js'
import { SignallingModule } from '../../signalling/gateway/signalling.module.js'
import { SocketsModule } from '../../signalling/sockets/sockets.module.js'
import { StreamsModule } from '../../streams/streams.module.js'
import { LegacyCaptions } from '../handlers/legacy-captions.js'
import { LegacyDispatcher } from '../handlers/legacy-dispatcher.js'
import { LegacyJoin } from '../handlers/legacy-join.js'
import { LegacyMedia } from '../handlers/legacy-media.js'
import { LegacyMediaRecovery } from '../handlers/legacy-media-recovery.js'
import { LegacyParticipants } from '../handlers/legacy-participants.js'
import { LegacyRoom } from '../handlers/legacy-room.js'
import { LegacyEndpoint } from './legacy-endpoint.js'

/** Unmodified clients of version 2; imported only with SERVICE_COMPAT_PREFIX. */
@Module({
  imports: [MediaNodesModule, ParticipationModule, SignallingModule, SocketsModule, StreamsModule],
  providers: [
    LegacyCaptions,
    LegacyDispatcher,
    LegacyEndpoint,
    LegacyJoin,
    LegacyMedia,
    LegacyMediaRecovery,
    LegacyParticipants,
    LegacyRoom,
  ],
})
export class LegacyClientsModule {}
