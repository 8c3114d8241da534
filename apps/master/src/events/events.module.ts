import { Module } from '@nestjs/common'
import { EventLog } from './event-log.js'
import { OutboxRepository } from './outbox.repository.js'

/** The log in which features record events, and the outbox from which they are delivered. */
@Module({
  providers: [EventLog, OutboxRepository],
  exports: [EventLog, OutboxRepository],
})
export class EventsModule {}
