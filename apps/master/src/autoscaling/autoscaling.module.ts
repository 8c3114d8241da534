import { Module } from '@nestjs/common'
import { AutoscalingService } from './autoscaling.service.js'
import { ClusterFigures } from './cluster-figures.service.js'
import { NodeRequestRepository } from './node-request.repository.js'
import { NodeRollService } from './node-roll.service.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'

/** Launches and drains media nodes according to their load, and replaces outdated ones. */
@Module({
  imports: [MediaNodesModule],
  providers: [AutoscalingService, ClusterFigures, NodeRequestRepository, NodeRollService],
})
export class AutoscalingModule {}
