import { Module } from '@nestjs/common'
import { ClusterModule } from '../cluster/cluster.module.js'
import { LifecycleModule } from '../lifecycle/lifecycle.module.js'
import { NodeModule } from '../node/node.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { RegistrationService } from './registration.service.js'

/** Registration with the masters, at the start and after each lost contact. */
@Module({
  imports: [NodeModule, RoomsModule, ClusterModule, LifecycleModule],
  providers: [RegistrationService],
  exports: [RegistrationService],
})
export class RegistrationModule {}
