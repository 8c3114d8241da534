import { Module } from '@nestjs/common'
import { NODE_DRIVER } from '../driver/node-driver.js'
import { nodeDriverProvider } from './node-drivers.js'

/** Starts and stops media nodes in the configured environment. */
@Module({
  providers: [nodeDriverProvider],
  exports: [NODE_DRIVER],
})
export class NodeDriversModule {}
