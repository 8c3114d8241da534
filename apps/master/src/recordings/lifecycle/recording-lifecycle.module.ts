import { Module } from '@nestjs/common'
import { MediaNodesModule } from '../../media-nodes/media-nodes.module.js'
import { RecordingFinalizeModule } from '../finalize/recording-finalize.module.js'
import { LayoutsModule } from '../layouts/layouts.module.js'
import { RecordingReconciler } from './recording-reconciler.service.js'
import { RecordingRetention } from './recording-retention.service.js'
import { RecordingRoleChanges } from './recording-role-changes.js'
import { RecordingStarter } from './recording-starter.service.js'
import { SessionRecordingHook } from './session-recording-hook.js'
import { RecordingRepositoryModule } from '../repository/recording-repository.module.js'
import { RecordingStorageModule } from '../storage/recording-storage.module.js'
import { SessionsModule } from '../../sessions/sessions.module.js'

/** Starts recordings, keeps them running, and stops them with their sessions. */
@Module({
  imports: [
    LayoutsModule,
    MediaNodesModule,
    RecordingFinalizeModule,
    RecordingRepositoryModule,
    RecordingStorageModule,
    SessionsModule,
  ],
  providers: [RecordingStarter, RecordingReconciler, RecordingRetention, RecordingRoleChanges, SessionRecordingHook],
  exports: [RecordingStarter, RecordingReconciler],
})
export class RecordingLifecycleModule {}
