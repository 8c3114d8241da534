import { Module } from '@nestjs/common'
import { EventsModule } from '../../events/events.module.js'
import { RecordingClaims } from './recording-claims.js'
import { RecordingCreation } from './recording-creation.js'
import { RecordingParts } from './recording-parts.js'
import { RecordingPresence } from './recording-presence.js'
import { RecordingQueries } from './recording-queries.js'
import { RecordingRemovals } from './recording-removals.js'
import { RecordingTransitions } from './recording-transitions.js'

/** The tables of recordings and their parts. */
@Module({
  imports: [EventsModule],
  providers: [
    RecordingQueries,
    RecordingCreation,
    RecordingTransitions,
    RecordingRemovals,
    RecordingClaims,
    RecordingParts,
    RecordingPresence,
  ],
  exports: [
    RecordingQueries,
    RecordingCreation,
    RecordingTransitions,
    RecordingRemovals,
    RecordingClaims,
    RecordingParts,
    RecordingPresence,
  ],
})
export class RecordingRepositoryModule {}
