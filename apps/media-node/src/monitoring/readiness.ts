import { ServiceError } from '@session-service/contract'
import type { Bus } from '@session-service/messaging'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { NodeState } from '../node/node-state.js'

/** What a node needs to take work, by the names shown when one is missing. */
export const readinessChecks = (bus: Bus, pool: WorkerPool, state: NodeState): Record<string, () => Promise<void>> => ({
  bus: async () => {
    if (!bus.connected) throw new ServiceError('UNAVAILABLE', 'the message bus is not reachable')
  },
  heartbeat: async () => {
    if (!state.announced) throw new ServiceError('UNAVAILABLE', 'no master can know of the node yet')
  },
  workers: async () => {
    if (pool.usable === 0) throw new ServiceError('UNAVAILABLE', 'no media worker is alive, or they keep dying')
  },
})
