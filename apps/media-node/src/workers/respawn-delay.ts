/** Deaths further apart than this are no crash loop. */
const WINDOW_MS = 60_000
const FIRST_MS = 200
/** The longest wait before a worker is started again. */
export const LONGEST_MS = 30_000

/**
 * How long to wait before a worker is started again, in ms, by the times at which it died, the latest last.
 * One death is repaired at once; in a crash loop each wait is thrice the one before.
 */
export function respawnDelay(deaths: readonly number[]): number {
  const last = deaths.at(-1) ?? 0
  const recent = deaths.filter((at) => last - at < WINDOW_MS).length
  return Math.min(LONGEST_MS, FIRST_MS * 3 ** Math.max(0, recent - 1))
}

/** The deaths that still count. */
export const recentDeaths = (deaths: readonly number[], now: number): number[] =>
  deaths.filter((at) => now - at < WINDOW_MS)
