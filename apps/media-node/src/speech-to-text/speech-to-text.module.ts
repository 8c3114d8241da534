import { Module } from '@nestjs/common'
import { SpeechToTextService } from './speech-to-text.service.js'

/** Language models and the recognition of speech. */
@Module({ providers: [SpeechToTextService], exports: [SpeechToTextService] })
export class SpeechToTextModule {}
