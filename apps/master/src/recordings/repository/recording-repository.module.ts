import { Module } from '@nestjs/common'
import { EventsModule } from '../../events/events.module.js'
import { RecordingRepository } from './recording.repository.js'

/** The table of recordings and their parts. */
@Module({
  imports: [EventsModule],
  providers: [RecordingRepository],
  exports: [RecordingRepository],
})
export class RecordingRepositoryModule {}
