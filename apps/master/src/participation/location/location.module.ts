import { Module } from '@nestjs/common'
import { LocationsService } from './locations.service.js'

/** Locations of addresses. */
@Module({ providers: [LocationsService], exports: [LocationsService] })
export class LocationModule {}
