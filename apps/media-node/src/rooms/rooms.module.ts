import { Module } from '@nestjs/common'
import type { NodeConfig } from '@session-service/config'
import { NodeIdentity } from '../node/identity.js'
import { NodeModule } from '../node/node.module.js'
import { NODE_CONFIG, NodeState } from '../node/node-state.js'
import { WorkerPool } from '../workers/worker-pool.js'
import { MediaService } from './media.service.js'
import { RoomEvents } from './room-events.js'

const createMedia = (
  config: NodeConfig,
  { bootId }: NodeIdentity,
  state: NodeState,
  pool: WorkerPool,
  events: RoomEvents,
): MediaService =>
  new MediaService({
    bootId,
    pickWorker: () => {
      state.requireAcceptingRooms()
      return pool.pick()
    },
    workers: () => pool.workers,
    consumersPerRouter: config.MEDIA_NODE_CONSUMERS_PER_ROUTER,
    report: (roomId, event) => events.publish(roomId, event),
  })

/** Rooms, their peers and their streams. */
@Module({
  imports: [NodeModule],
  providers: [
    RoomEvents,
    {
      provide: MediaService,
      useFactory: createMedia,
      inject: [NODE_CONFIG, NodeIdentity, NodeState, WorkerPool, RoomEvents],
    },
  ],
  exports: [MediaService, RoomEvents],
})
export class RoomsModule {}
