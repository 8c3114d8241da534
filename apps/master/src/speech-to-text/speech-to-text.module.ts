import { Module } from '@nestjs/common'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { SpeechToTextController } from './speech-to-text.controller.js'
import { SpeechToTextService } from './speech-to-text.service.js'

/** Language models on media nodes. */
@Module({
  imports: [MediaNodesModule],
  controllers: [SpeechToTextController],
  providers: [SpeechToTextService],
  exports: [SpeechToTextService],
})
export class SpeechToTextModule {}
