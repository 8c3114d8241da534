import { Module } from '@nestjs/common'
import { DocsController } from './docs.controller.js'

/** The page that describes the REST interface. */
@Module({
  controllers: [DocsController],
})
export class DocsModule {}
