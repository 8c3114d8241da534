import { Module } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { silentMsOf } from '@session-service/contract'
import { Fence } from './fence.js'
import { NODE_CONFIG, NodeState } from './node-state.js'
import { Rhythm } from './rhythm.js'
import { StatisticsSettings } from './statistics-settings.js'

/** The state of this process as a member of the cluster. */
@Module({
  providers: [
    NodeState,
    StatisticsSettings,
    {
      provide: Rhythm,
      inject: [NODE_CONFIG],
      useFactory: ({ MEDIA_NODE_REST_AFTER: seconds }: NodeConfig) =>
        new Rhythm(seconds > 0 ? seconds * 1_000 : Infinity),
    },
    {
      provide: Fence,
      inject: [Rhythm],
      useFactory: (rhythm: Rhythm) => new Fence(undefined, () => silentMsOf(rhythm.everyMs)),
    },
  ],
  exports: [NodeState, StatisticsSettings, Rhythm, Fence],
})
export class NodeModule {}
