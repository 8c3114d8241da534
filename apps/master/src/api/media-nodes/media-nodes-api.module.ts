import { Module } from '@nestjs/common'
import { AddMediaNode } from './add-media-node.service.js'
import { MediaNodeQueries } from './media-node-queries.service.js'
import { MediaNodesController } from './media-nodes.controller.js'
import { RemoveMediaNode } from './remove-media-node.service.js'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { RecoveryModule } from '../../recovery/recovery.module.js'

/** Lists, adds, drains and removes media nodes. */
@Module({
  imports: [ConnectionsModule, MediaNodesModule, RecoveryModule],
  controllers: [MediaNodesController],
  providers: [AddMediaNode, RemoveMediaNode, MediaNodeQueries],
  exports: [MediaNodeQueries],
})
export class MediaNodesApiModule {}
