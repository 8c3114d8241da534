import type { HealthStatus } from '@session-service/contract'

/** The status of a master that can work, by the number of its connected and disconnected media nodes. */
export const masterStatus = (connected: number, disconnected: number): HealthStatus =>
  connected === 0 ? 'DOWN' : disconnected > 0 ? 'UNSTABLE' : 'UP'

/** UP when all masters are, DOWN when all are down, otherwise UNSTABLE. */
export function clusterStatus(masters: readonly HealthStatus[]): HealthStatus {
  if (masters.every((status) => status === 'DOWN')) return 'DOWN'
  return masters.every((status) => status === 'UP') ? 'UP' : 'UNSTABLE'
}
