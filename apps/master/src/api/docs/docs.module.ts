import { Module } from '@nestjs/common'
import { DocsController } from './docs.controller.js'

/** Serves the OpenAPI document and a page that shows it. */
@Module({
  controllers: [DocsController],
})
export class DocsModule {}
