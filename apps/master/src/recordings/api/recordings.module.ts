import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { RecordingsController } from './recordings.controller.js'
import { RecordingsService } from './recordings.service.js'
import { RecordingFinalizeModule } from '../finalize/recording-finalize.module.js'
import { LayoutsModule } from '../layouts/layouts.module.js'
import { RecordingLifecycleModule } from '../lifecycle/recording-lifecycle.module.js'
import { RecordingRepositoryModule } from '../repository/recording-repository.module.js'
import { RecordingStorageModule } from '../storage/recording-storage.module.js'
import { SessionsModule } from '../../sessions/sessions.module.js'

/** The REST interface of recordings. */
@Module({
  imports: [
    ConnectionsModule,
    LayoutsModule,
    MediaNodesModule,
    RecordingFinalizeModule,
    RecordingLifecycleModule,
    RecordingRepositoryModule,
    RecordingStorageModule,
    SessionsModule,
  ],
  controllers: [RecordingsController],
  providers: [RecordingsService],
  exports: [RecordingsService],
})
export class RecordingsModule {}
