import { Module } from '@nestjs/common'
import { AdmissionRepository } from './admission.repository.js'
import { CameraRepository } from './camera.repository.js'
import { ConnectionRepository } from './connection.repository.js'
import { ConnectionsController } from './connections.controller.js'
import { ConnectionsService } from './connections.service.js'
import { DepartureRepository } from './departure.repository.js'
import { EmptySessions } from './empty-sessions.js'
import { EndpointsService } from './endpoints.service.js'
import { ParticipantRepository } from './participant.repository.js'
import { PresenceRepository } from './presence.repository.js'
import { RecorderRepository } from './recorder.repository.js'
import { RoleChangeHooks } from './role-change-hooks.js'
import { ResumeRepository } from './resume.repository.js'
import { SessionQueries } from './session-queries.js'
import { TokenReleaseRepository } from './token-release.repository.js'
import { TokensController } from './tokens.controller.js'
import { EventsModule } from '../events/events.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { SessionsModule } from '../sessions/sessions.module.js'
import { TokensModule } from '../tokens/tokens.module.js'

/** Connections of sessions with their tokens; the presence of participants. */
@Module({
  imports: [EventsModule, MediaNodesModule, SessionsModule, TokensModule],
  controllers: [ConnectionsController, TokensController],
  providers: [
    AdmissionRepository,
    CameraRepository,
    ConnectionRepository,
    DepartureRepository,
    EmptySessions,
    ParticipantRepository,
    PresenceRepository,
    RecorderRepository,
    ResumeRepository,
    RoleChangeHooks,
    TokenReleaseRepository,
    ConnectionsService,
    EndpointsService,
    SessionQueries,
  ],
  exports: [
    AdmissionRepository,
    CameraRepository,
    DepartureRepository,
    ParticipantRepository,
    PresenceRepository,
    ResumeRepository,
    TokenReleaseRepository,
    ConnectionsService,
    SessionQueries,
  ],
})
export class ConnectionsModule {}
