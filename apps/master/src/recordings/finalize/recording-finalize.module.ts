import { Module } from '@nestjs/common'
import { RecordingFinalizer } from './recording-finalizer.service.js'
import { RecordingRepositoryModule } from '../repository/recording-repository.module.js'
import { RecordingStorageModule } from '../storage/recording-storage.module.js'

/** Makes the finished file of a recording. */
@Module({
  imports: [RecordingRepositoryModule, RecordingStorageModule],
  providers: [RecordingFinalizer],
  exports: [RecordingFinalizer],
})
export class RecordingFinalizeModule {}
