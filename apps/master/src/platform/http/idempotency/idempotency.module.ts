import { Module } from '@nestjs/common'
import { IdempotentCalls } from './idempotent-calls.service.js'

/** Stores the answers of calls with an idempotency key. */
@Module({ providers: [IdempotentCalls], exports: [IdempotentCalls] })
export class IdempotencyModule {}
