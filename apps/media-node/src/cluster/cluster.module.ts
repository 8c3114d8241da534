import { Module } from '@nestjs/common'
import { NodeModule } from '../node/node.module.js'
import { RecordingsModule } from '../recordings/recordings.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { ClockSyncService } from './clock-sync.service.js'
import { HeartbeatService } from './heartbeat.service.js'
import { ReportsService } from './reports.service.js'

/** Messages to the masters: heartbeats, reports and clock samples. */
@Module({
  imports: [NodeModule, RoomsModule, RecordingsModule, SpeechToTextModule],
  providers: [HeartbeatService, ClockSyncService, ReportsService],
  exports: [HeartbeatService, ClockSyncService, ReportsService],
})
export class ClusterModule {}
