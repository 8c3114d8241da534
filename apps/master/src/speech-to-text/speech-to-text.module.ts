import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { LanguageModels } from './language-models.service.js'
import { SpeechToTextController } from './speech-to-text.controller.js'
import { SpeechToTextService } from './speech-to-text.service.js'

/** Language models on media nodes, and the caption subscriptions of participants. */
@Module({
  imports: [ConnectionsModule, MediaNodesModule],
  controllers: [SpeechToTextController],
  providers: [LanguageModels, SpeechToTextService],
  exports: [SpeechToTextService],
})
export class SpeechToTextModule {}
