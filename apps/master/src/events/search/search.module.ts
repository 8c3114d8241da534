import { Module } from '@nestjs/common'
import { EventsModule } from '../events.module.js'
import { SearchService } from './search.service.js'

/** Sends events and summaries of sessions to a search server. */
@Module({ imports: [EventsModule], providers: [SearchService] })
export class SearchModule {}
