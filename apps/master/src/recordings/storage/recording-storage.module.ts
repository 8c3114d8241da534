import { Module } from '@nestjs/common'
import { RecordingStore } from './recording-store.js'
import { RecordingStoreFs } from './recording-store-fs.js'

/** Where the files of recordings are kept. */
@Module({
  providers: [{ provide: RecordingStore, useClass: RecordingStoreFs }],
  exports: [RecordingStore],
})
export class RecordingStorageModule {}
