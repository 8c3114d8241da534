import { Module } from '@nestjs/common'
import { NetworkQualityReports } from './network-quality-reports.service.js'

/** How well the media of publishers arrives at media nodes. */
@Module({ providers: [NetworkQualityReports], exports: [NetworkQualityReports] })
export class NetworkQualityModule {}
