import { Module } from '@nestjs/common'
import { EventsModule } from '../events.module.js'
import { DeadLettersController } from './dead-letters.controller.js'
import { WebhookSender } from './webhook-sender.service.js'

/** Posts events to the webhook endpoint. */
@Module({
  imports: [EventsModule],
  controllers: [DeadLettersController],
  providers: [WebhookSender],
})
export class WebhookModule {}
