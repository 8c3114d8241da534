import { Module } from '@nestjs/common'
import { EventLog } from './event-log.js'
import { OutboxRepository } from './outbox.repository.js'
import { RecentEvents } from './recent-events.service.js'

/** The log in which features record events, the outbox from which they are delivered, and those of the last hour. */
@Module({
  providers: [EventLog, OutboxRepository, RecentEvents],
  exports: [EventLog, OutboxRepository, RecentEvents],
})
export class EventsModule {}
