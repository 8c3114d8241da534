import { Module } from '@nestjs/common'
import { ClusterModule } from '../cluster/cluster.module.js'
import { NodeModule } from '../node/node.module.js'
import { RecordingsModule } from '../recordings/recordings.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { LifecycleService } from './lifecycle.service.js'

/** Draining and shutdown. */
@Module({
  imports: [NodeModule, RoomsModule, RecordingsModule, ClusterModule],
  providers: [LifecycleService],
  exports: [LifecycleService],
})
export class LifecycleModule {}
