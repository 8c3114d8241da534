import { ServiceError } from '@session-service/contract'
import type { Bus } from '@session-service/messaging'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { NodeState } from '../node/node-state.js'

/** The readiness checks of a node, by the names that /readyz shows. */
export const readinessChecks = (bus: Bus, pool: WorkerPool, state: NodeState): Record<string, () => Promise<void>> => ({
  bus: async () => {
    if (!bus.connected) throw new ServiceError('UNAVAILABLE', 'the message bus is not reachable')
  },
  heartbeat: async () => {
    if (!state.announced) throw new ServiceError('UNAVAILABLE', 'no heartbeat has been sent yet')
  },
  workers: async () => {
    if (pool.usable === 0)
      throw new ServiceError('UNAVAILABLE', 'no media worker is alive, or they are in a crash loop')
  },
})
