import { Module } from '@nestjs/common'
import { RoomsModule } from '../rooms/rooms.module.js'
import { IpCamerasService } from './ip-cameras.service.js'

/** Cameras on the network, which publish in rooms. */
@Module({ imports: [RoomsModule], providers: [IpCamerasService], exports: [IpCamerasService] })
export class IpCamerasModule {}
