import { Module } from '@nestjs/common'
import { EventsModule } from '../events/events.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { LostMediaRepository } from './lost-media.repository.js'
import { NodeSelection } from './node-selection.service.js'
import { RoomAttempts } from './room-attempts.js'
import { RoomPlacement } from './room-placement.js'
import { SessionMediaRepository } from './session-media.repository.js'

/** Selects the media node of a session and stores the placement. */
@Module({
  imports: [EventsModule, MediaNodesModule],
  providers: [LostMediaRepository, NodeSelection, RoomAttempts, RoomPlacement, SessionMediaRepository],
  exports: [LostMediaRepository, RoomAttempts, RoomPlacement, SessionMediaRepository],
})
export class PlacementModule {}
