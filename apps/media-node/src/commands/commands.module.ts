import { Module } from '@nestjs/common'
import { ClusterModule } from '../cluster/cluster.module.js'
import { FiltersModule } from '../filters/filters.module.js'
import { IpCamerasModule } from '../ip-cameras/ip-cameras.module.js'
import { LifecycleModule } from '../lifecycle/lifecycle.module.js'
import { NodeModule } from '../node/node.module.js'
import { RecordingsModule } from '../recordings/recordings.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { CommandsController } from './commands.controller.js'
import { MediaserverInfoService } from './mediaserver-info.js'

/** The commands that masters send to this node. */
@Module({
  imports: [
    ClusterModule,
    NodeModule,
    RoomsModule,
    RecordingsModule,
    SpeechToTextModule,
    IpCamerasModule,
    FiltersModule,
    LifecycleModule,
  ],
  controllers: [CommandsController],
  providers: [MediaserverInfoService],
})
export class CommandsModule {}
