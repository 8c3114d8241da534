import { Module } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { ReportSender } from '@session-service/messaging'
import { NODE_CONFIG } from '../node/node-state.js'
import { RecordingsModule } from '../recordings/recordings.module.js'
import { RecordingsService } from '../recordings/recordings.service.js'
import { MediaService } from '../rooms/media.service.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { SpeechToTextService } from '../speech-to-text/speech-to-text.service.js'
import { FiltersService } from './filters.service.js'

const createFilters = (
  config: NodeConfig,
  media: MediaService,
  reports: ReportSender,
  recordings: RecordingsService,
  speech: SpeechToTextService,
): FiltersService =>
  new FiltersService(config, media, reports, () => ({
    recordings: recordings.used,
    speechStreams: speech.streams,
  }))

/** Filters of streams. */
@Module({
  imports: [RoomsModule, RecordingsModule, SpeechToTextModule],
  providers: [
    {
      provide: FiltersService,
      useFactory: createFilters,
      inject: [NODE_CONFIG, MediaService, ReportSender, RecordingsService, SpeechToTextService],
    },
  ],
  exports: [FiltersService],
})
export class FiltersModule {}
