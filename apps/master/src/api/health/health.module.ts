import { Module } from '@nestjs/common'
import { HealthController } from './health.controller.js'
import { HealthService } from './health.service.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'

/** The health of the cluster. */
@Module({
  imports: [MediaNodesModule],
  controllers: [HealthController],
  providers: [HealthService],
  exports: [HealthService],
})
export class HealthModule {}
