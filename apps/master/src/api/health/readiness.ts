import { ServiceError } from '@session-service/contract'
import type { Bus } from '@session-service/messaging'
import type { DataSource } from 'typeorm'

/** What a master needs to take work, by the names shown when one is missing. */
export const readinessChecks = (bus: Bus, dataSource: DataSource): Record<string, () => Promise<void>> => ({
  bus: async () => {
    if (!bus.connected) throw new ServiceError('UNAVAILABLE', 'the message bus is not reachable')
  },
  database: async () => {
    await dataSource.query('SELECT 1')
  },
})
