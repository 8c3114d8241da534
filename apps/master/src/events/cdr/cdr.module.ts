import { Module } from '@nestjs/common'
import { CdrController } from './cdr.controller.js'
import { CdrService } from './cdr.service.js'
import { EventsModule } from '../events.module.js'

/** Writes events to the CDR file. */
@Module({
  imports: [EventsModule],
  controllers: [CdrController],
  providers: [CdrService],
})
export class CdrModule {}
