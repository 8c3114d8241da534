import { Module } from '@nestjs/common'
import { EventsModule } from '../events/events.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { PlacementModule } from '../placement/placement.module.js'
import { SessionsModule } from '../sessions/sessions.module.js'
import { StreamRepository } from './stream.repository.js'
import { StreamsController } from './streams.controller.js'
import { SubscriptionRepository } from './subscription.repository.js'
import { StreamsService } from './streams.service.js'

/** Published streams and subscriptions. */
@Module({
  imports: [EventsModule, MediaNodesModule, PlacementModule, SessionsModule],
  controllers: [StreamsController],
  providers: [StreamRepository, SubscriptionRepository, StreamsService],
  exports: [StreamRepository, StreamsService],
})
export class StreamsModule {}
