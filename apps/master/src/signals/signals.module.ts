import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { EventsModule } from '../events/events.module.js'
import { RecentSignals } from './recent-signals.js'
import { SignalsController } from './signals.controller.js'
import { SignalsService } from './signals.service.js'

/** Signals between participants and from the server. */
@Module({
  imports: [EventsModule, ConnectionsModule],
  controllers: [SignalsController],
  providers: [SignalsService, RecentSignals],
  exports: [SignalsService, RecentSignals],
})
export class SignalsModule {}
