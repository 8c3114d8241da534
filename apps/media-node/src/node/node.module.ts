import { Module } from '@nestjs/common'
import { Fence } from './fence.js'
import { NodeState } from './node-state.js'
import { StatisticsSettings } from './statistics-settings.js'

/** The state of this process as a member of the cluster. */
@Module({
  providers: [NodeState, StatisticsSettings, { provide: Fence, useFactory: () => new Fence() }],
  exports: [NodeState, StatisticsSettings, Fence],
})
export class NodeModule {}
