import { backoffMs } from '@session-service/server-kit'

/** Older deaths do not count for the back-off. */
const WINDOW_MS = 60_000
const FIRST_DELAY_MS = 200
export const MAX_RESPAWN_DELAY_MS = 30_000

/** The back-off before a worker is started again, ms. `deaths`: the times of its deaths, the latest one last. */
export function respawnDelay(deaths: readonly number[]): number {
  const last = deaths.at(-1) ?? 0
  const recent = deaths.filter((at) => last - at < WINDOW_MS).length
  return backoffMs(recent, { firstMs: FIRST_DELAY_MS, longestMs: MAX_RESPAWN_DELAY_MS, factor: 3, jitter: false })
}

/** The deaths that still count. */
export const recentDeaths = (deaths: readonly number[], now: number): number[] =>
  deaths.filter((at) => now - at < WINDOW_MS)
