import { Module } from '@nestjs/common'
import { RecordingFinalizer } from './recording-finalizer.service.js'
import { RecordingRepositoryModule } from '../repository/recording-repository.module.js'
import { RecordingStorageModule } from '../storage/recording-storage.module.js'
import { SpeechToTextModule } from '../../speech-to-text/speech-to-text.module.js'
import { RecordedSentences } from './recorded-sentences.service.js'

/** Makes the finished file of a recording. */
@Module({
  imports: [RecordingRepositoryModule, RecordingStorageModule, SpeechToTextModule],
  providers: [RecordingFinalizer, RecordedSentences],
  exports: [RecordingFinalizer],
})
export class RecordingFinalizeModule {}
