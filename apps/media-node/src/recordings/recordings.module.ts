import { Module } from '@nestjs/common'
import { NodeModule } from '../node/node.module.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { RecordingsService } from './recordings.service.js'

/** Recording jobs: they run on this node and deliver their files to the masters. */
@Module({ imports: [NodeModule, RoomsModule], providers: [RecordingsService], exports: [RecordingsService] })
export class RecordingsModule {}
