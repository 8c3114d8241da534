import { Module } from '@nestjs/common'
import { EventsModule } from '../events/events.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { StreamsModule } from '../streams/streams.module.js'
import { FilterEventsRepository } from './filter-events.repository.js'
import { FilterPublication } from './filter-publication.service.js'
import { FilterReports } from './filter-reports.service.js'
import { FilterRepository } from './filter.repository.js'
import { FiltersService } from './filters.service.js'

/** Filters of published streams, which media nodes apply, and their events. */
@Module({
  imports: [EventsModule, MediaNodesModule, StreamsModule],
  providers: [FilterRepository, FilterEventsRepository, FiltersService, FilterPublication, FilterReports],
  exports: [FiltersService, FilterPublication, FilterReports],
})
export class FiltersModule {}
