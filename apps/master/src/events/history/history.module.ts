import { Module } from '@nestjs/common'
import { EventsModule } from '../events.module.js'
import { HistoryController } from './history.controller.js'
import { HistoryService } from './history.service.js'
import { SessionHistoryRepository } from './session-history.repository.js'

/** Keeps summaries of ended sessions. */
@Module({
  imports: [EventsModule],
  controllers: [HistoryController],
  providers: [SessionHistoryRepository, HistoryService],
})
export class HistoryModule {}
