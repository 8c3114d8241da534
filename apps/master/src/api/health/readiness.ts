import { ServiceError } from '@session-service/contract'
import type { Bus } from '@session-service/messaging'
import type { DataSource } from 'typeorm'
import { poolOf } from '../../platform/database/data-source.js'
import { execute } from '../../platform/database/sql.js'

/** The readiness checks of a master, by the names that the probe shows. */
export const readinessChecks = (bus: Bus, dataSource: DataSource): Record<string, () => Promise<void>> => ({
  bus: async () => {
    if (!bus.connected) throw new ServiceError('UNAVAILABLE', 'the message bus is not reachable')
  },
  database: async () => {
    await execute(dataSource, 'SELECT 1')
    if (poolOf(dataSource).refusesWrites) throw new ServiceError('UNAVAILABLE', 'the database accepts no writes')
  },
})
