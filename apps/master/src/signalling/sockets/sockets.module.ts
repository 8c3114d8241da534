import { Module } from '@nestjs/common'
import { PlacementModule } from '../../placement/placement.module.js'
import { LostMediaWatch } from './lost-media-watch.js'
import { SocketRegistry } from './socket-registry.js'

/** The client sockets of this master, by session. */
@Module({
  imports: [PlacementModule],
  providers: [SocketRegistry, LostMediaWatch],
  exports: [SocketRegistry],
})
export class SocketsModule {}
