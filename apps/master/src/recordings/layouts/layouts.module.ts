import { Module } from '@nestjs/common'
import { ConnectionsModule } from '../../connections/connections.module.js'
import { LayoutsService } from './layouts.service.js'

/** Custom layouts: pages that a browser records. */
@Module({
  imports: [ConnectionsModule],
  providers: [LayoutsService],
  exports: [LayoutsService],
})
export class LayoutsModule {}
