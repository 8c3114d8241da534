import { Module } from '@nestjs/common'
import { TokensService } from './tokens.service.js'

/** Signs and verifies tokens. No table, no I/O. */
@Module({
  providers: [TokensService],
  exports: [TokensService],
})
export class TokensModule {}
