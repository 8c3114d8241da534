import { Module } from '@nestjs/common'
import { RoomsModule } from '../rooms/rooms.module.js'
import { SpeechToTextService } from './speech-to-text.service.js'
import { TranscriptReports } from './transcript-reports.js'

/** Language models, and the speech of rooms as text. */
@Module({ imports: [RoomsModule], providers: [SpeechToTextService, TranscriptReports], exports: [SpeechToTextService] })
export class SpeechToTextModule {}
