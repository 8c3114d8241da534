import { Module } from '@nestjs/common'
import { NodeModule } from '../node/node.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { NodeMetrics } from './node-metrics.js'

@Module({ imports: [NodeModule, RoomsModule], providers: [NodeMetrics] })
export class MonitoringModule {}
