import { Module } from '@nestjs/common'
import { NodeModule } from '../node/node.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { MediaStatisticsService } from './media-statistics.service.js'

/** Exports the quality of the node's media as metrics. */
@Module({ imports: [NodeModule, RoomsModule], providers: [MediaStatisticsService] })
export class MediaStatisticsModule {}
