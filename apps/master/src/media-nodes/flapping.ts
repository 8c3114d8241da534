/** Back-off of placement after the recovery of a node, ms, by the number of consecutive crashes from the second on. */
const BACK_OFF_MS = [10_000, 60_000, 300_000] as const
/** A node that was connected for this long without a crash starts at the first step again, ms. */
const STABLE_MS = 300_000
const LONGEST_MS = Math.max(...BACK_OFF_MS)

/** The crash history in the row of a node. Times in UTC ms of the cluster clock. */
interface CrashHistory {
  /** Consecutive crashes, each less than `STABLE_MS` after the recovery from the previous one. */
  crashCount: number
  connectionTime: number | null
}

/** The number of consecutive crashes including one at `now`. */
export const countCrash = ({ crashCount, connectionTime }: CrashHistory, now: number): number =>
  connectionTime !== null && now - connectionTime >= STABLE_MS ? 1 : crashCount + 1

/** End of the back-off of a node that recovers at `now`; null after fewer than two consecutive crashes. */
export function backOffUntil(crashCount: number, now: number): number | null {
  if (crashCount < 2) return null
  return now + (BACK_OFF_MS[crashCount - 2] ?? LONGEST_MS)
}

/** Limits the back-off to the longest one, also after a clock was set back. */
export const isBackedOff = (until: number | null, now: number): until is number =>
  until !== null && now < until && until - now <= LONGEST_MS
