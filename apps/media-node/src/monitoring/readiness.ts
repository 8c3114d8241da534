import { ServiceError } from '@session-service/contract'
import type { Bus } from '@session-service/messaging'
import type { AnnouncedAddress } from '../address/announced-address.js'
import type { WorkerPool } from '../workers/worker-pool.js'
import type { NodeState } from '../node/node-state.js'

/** The readiness checks of a node, by the names that /readyz shows. */
export const readinessChecks = (
  announced: AnnouncedAddress,
  bus: Bus,
  pool: WorkerPool,
  state: NodeState,
): Record<string, () => Promise<void>> => ({
  'announced address': async () => {
    if (announced.current === undefined)
      throw new ServiceError('UNAVAILABLE', 'no source gives an address to announce to clients')
  },
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
