import { Module } from '@nestjs/common'
import { EventsModule } from '../events/events.module.js'
import { NodeDriversModule } from './drivers/node-drivers.module.js'
import { DrivenNodesService } from './driven-nodes.service.js'
import { MasterMembership } from './master-membership.js'
import { MediaNodeRepository } from './media-node.repository.js'
import { MediaNodesService } from './media-nodes.service.js'
import { NodeCommands } from './node-commands.js'
import { NodeFleet } from './node-fleet.service.js'
import { NodeLaunchService } from './node-launch.service.js'
import { NodeUsage } from './node-usage.js'

/** The media nodes of the cluster: heartbeats, rows, requests, launches, and the masters that are alive. */
@Module({
  imports: [EventsModule, NodeDriversModule],
  providers: [
    MediaNodeRepository,
    MediaNodesService,
    NodeCommands,
    NodeFleet,
    NodeLaunchService,
    NodeUsage,
    DrivenNodesService,
    MasterMembership,
  ],
  exports: [
    NodeDriversModule,
    MediaNodeRepository,
    MediaNodesService,
    NodeCommands,
    NodeFleet,
    NodeLaunchService,
    NodeUsage,
    DrivenNodesService,
    MasterMembership,
  ],
})
export class MediaNodesModule {}
