import type { Heartbeat } from '@session-service/contract'

/**
 * Converts the times of a heartbeat to the cluster clock. The clock of a node may be wrong by any amount, but all times
 * of a heartbeat are by that clock, and it was sent just now. `sentAt` stays: it only distinguishes heartbeats.
 */
export function inClusterTime(beat: Heartbeat, now: number): Heartbeat {
  const offset = now - beat.sentAt
  const shifted = (time: number): number => Math.round(time + offset)
  return {
    ...beat,
    // 0 means unknown.
    launchedAt: beat.launchedAt === 0 ? 0 : shifted(beat.launchedAt),
    drainDeadline: beat.drainDeadline === null ? null : shifted(beat.drainDeadline),
  }
}
