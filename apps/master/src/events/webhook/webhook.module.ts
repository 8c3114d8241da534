import { Module } from '@nestjs/common'
import { EventsModule } from '../events.module.js'
import { DeadLetterRepository } from './dead-letter.repository.js'
import { DeadLettersController } from './dead-letters.controller.js'
import { WebhookQueueRepository } from './webhook-queue.repository.js'
import { WebhookSender } from './webhook-sender.service.js'

/** Posts events to the webhook endpoint. */
@Module({
  imports: [EventsModule],
  controllers: [DeadLettersController],
  providers: [DeadLetterRepository, WebhookQueueRepository, WebhookSender],
})
export class WebhookModule {}
