import { Module } from '@nestjs/common'
import { AutoscalingService } from './autoscaling.service.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'

/** Launches and drains media nodes according to their load. */
@Module({
  imports: [MediaNodesModule],
  providers: [AutoscalingService],
})
export class AutoscalingModule {}
