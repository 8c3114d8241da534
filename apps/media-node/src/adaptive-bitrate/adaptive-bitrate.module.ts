import { Module } from '@nestjs/common'
import { MediaService } from '../rooms/media.service.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { AdaptiveBitrateService } from './adaptive-bitrate.service.js'

/** Gives constrained subscribers of cameras a smaller video. */
@Module({
  imports: [RoomsModule],
  providers: [
    {
      provide: AdaptiveBitrateService,
      useFactory: (media: MediaService) => new AdaptiveBitrateService(media),
      inject: [MediaService],
    },
  ],
})
export class AdaptiveBitrateModule {}
