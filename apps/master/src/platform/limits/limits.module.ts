import { Module } from '@nestjs/common'
import { ClientBudgets } from './client-budgets.js'

/** Rate limits of clients, shared by all sockets and signals of a participant. */
@Module({ providers: [ClientBudgets], exports: [ClientBudgets] })
export class LimitsModule {}
