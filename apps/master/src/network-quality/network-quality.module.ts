import { Module } from '@nestjs/common'
import { EventsModule } from '../events/events.module.js'
import { NetworkQualityReports } from './network-quality-reports.service.js'

/** How well the media of publishers arrives at media nodes. */
@Module({ imports: [EventsModule], providers: [NetworkQualityReports], exports: [NetworkQualityReports] })
export class NetworkQualityModule {}
