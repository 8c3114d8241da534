import { Module } from '@nestjs/common'
import { ReportSender } from '@session-service/messaging'
import { MediaService } from '../rooms/media.service.js'
import { RoomsModule } from '../rooms/rooms.module.js'
import { NetworkQualityService } from './network-quality.service.js'

/** Measures how well the media of publishers arrives. */
@Module({
  imports: [RoomsModule],
  providers: [
    {
      provide: NetworkQualityService,
      useFactory: (media: MediaService, reports: ReportSender) =>
        new NetworkQualityService(media, (quality) => {
          void reports.send({ kind: 'networkQualityChanged', quality })
        }),
      inject: [MediaService, ReportSender],
    },
  ],
})
export class NetworkQualityModule {}
