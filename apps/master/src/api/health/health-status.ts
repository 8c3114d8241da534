import type { HealthStatus } from '@session-service/contract'

/** Of a master that can work, by the media nodes it hears and those it misses. */
export const masterStatus = (connected: number, disconnected: number): HealthStatus =>
  connected === 0 ? 'DOWN' : disconnected > 0 ? 'UNSTABLE' : 'UP'

/** Up when every master is; down when none is of any use. */
export function clusterStatus(masters: readonly HealthStatus[]): HealthStatus {
  if (masters.every((status) => status === 'DOWN')) return 'DOWN'
  return masters.every((status) => status === 'UP') ? 'UP' : 'UNSTABLE'
}
