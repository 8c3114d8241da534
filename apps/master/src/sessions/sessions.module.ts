import { Module } from '@nestjs/common'
import { EventsModule } from '../events/events.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { PlacementModule } from '../placement/placement.module.js'
import { SessionEndHooks } from './session-end-hooks.js'
import { SessionDeletionRepository } from './session-deletion.repository.js'
import { SessionRepository } from './session.repository.js'
import { SessionTranscriptionRepository } from './session-transcription.repository.js'
import { SessionsService } from './sessions.service.js'

/** Creates, closes and garbage-collects sessions. */
@Module({
  imports: [EventsModule, MediaNodesModule, PlacementModule],
  providers: [
    SessionRepository,
    SessionDeletionRepository,
    SessionTranscriptionRepository,
    SessionsService,
    SessionEndHooks,
  ],
  exports: [SessionsService, SessionEndHooks, SessionTranscriptionRepository],
})
export class SessionsModule {}
