import { Module } from '@nestjs/common'
import { RecordingsModule } from '../recordings/recordings.module.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { MediaService } from '../rooms/media.service.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { SpeechToTextService } from '../speech-to-text/speech-to-text.service.js'
import { TranscodingService } from './transcoding.service.js'

const createTranscoding = (
  media: MediaService,
  recordings: RecordingsService,
  speech: SpeechToTextService,
): TranscodingService =>
  new TranscodingService(media, () => ({ recordings: recordings.used, speechStreams: speech.streams }))

/** Encodes videos for the subscribers that cannot decode them. */
@Module({
  imports: [RoomsModule, RecordingsModule, SpeechToTextModule],
  providers: [
    {
      provide: TranscodingService,
      useFactory: createTranscoding,
      inject: [MediaService, RecordingsService, SpeechToTextService],
    },
  ],
})
export class TranscodingModule {}
