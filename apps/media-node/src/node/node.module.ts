import { Module } from '@nestjs/common'
import { Fence } from './fence.js'
import { NodeState } from './node-state.js'

/** The state of this process as a member of the cluster. */
@Module({
  providers: [NodeState, { provide: Fence, useFactory: () => new Fence() }],
  exports: [NodeState, Fence],
})
export class NodeModule {}
