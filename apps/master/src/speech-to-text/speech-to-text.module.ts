import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { EventsModule } from '../events/events.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { PlacementModule } from '../placement/placement.module.js'
import { SessionsModule } from '../sessions/sessions.module.js'
import { LanguageModels } from './language-models.service.js'
import { SpeechToTextController } from './speech-to-text.controller.js'
import { SpeechToTextService } from './speech-to-text.service.js'
import { TranscriptReady } from './transcript-ready.service.js'
import { TranscriptRepository } from './transcript.repository.js'
import { TranscriptionsService } from './transcriptions.service.js'
import { TranscriptsController } from './transcripts.controller.js'
import { TranscriptsService } from './transcripts.service.js'

/** Language models on media nodes, the caption subscriptions of participants, and transcripts. */
@Module({
  imports: [ConnectionsModule, EventsModule, MediaNodesModule, PlacementModule, SessionsModule],
  controllers: [SpeechToTextController, TranscriptsController],
  providers: [
    LanguageModels,
    SpeechToTextService,
    TranscriptRepository,
    TranscriptsService,
    TranscriptionsService,
    TranscriptReady,
  ],
  exports: [SpeechToTextService, TranscriptsService, TranscriptionsService],
})
export class SpeechToTextModule {}
