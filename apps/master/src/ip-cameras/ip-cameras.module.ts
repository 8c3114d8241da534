import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../connections/connections.module.js'
import { FiltersModule } from '../filters/filters.module.js'
import { MediaNodesModule } from '../media-nodes/media-nodes.module.js'
import { LocationModule } from '../participation/location/location.module.js'
import { PlacementModule } from '../placement/placement.module.js'
import { RecordingLifecycleModule } from '../recordings/lifecycle/recording-lifecycle.module.js'
import { SpeechToTextModule } from '../speech-to-text/speech-to-text.module.js'
import { StreamsModule } from '../streams/streams.module.js'
import { CameraReports } from './camera-reports.service.js'
import { CameraRestarts } from './camera-restarts.service.js'
import { CameraStarter } from './camera-starter.service.js'
import { IpCamerasService } from './ip-cameras.service.js'

/** Cameras on the network: participants that a media node reads and publishes. */
@Module({
  imports: [
    ConnectionsModule,
    FiltersModule,
    LocationModule,
    MediaNodesModule,
    PlacementModule,
    RecordingLifecycleModule,
    SpeechToTextModule,
    StreamsModule,
  ],
  providers: [CameraStarter, CameraRestarts, CameraReports, IpCamerasService],
  exports: [CameraRestarts, CameraReports, IpCamerasService],
})
export class IpCamerasModule {}
