import { Module } from '@nestjs/common'
import { RecordingStore } from './recording-store.js'
import { RecordingStoreFs } from './recording-store-fs.js'

/** The files of recordings: delivery, finished files, storage. */
@Module({
  providers: [{ provide: RecordingStore, useClass: RecordingStoreFs }],
  exports: [RecordingStore],
})
export class RecordingStorageModule {}
