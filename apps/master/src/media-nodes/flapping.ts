/** Placement on a node that crashed again is backed off for this long after its return, one step with each crash, ms. */
const BACK_OFF_MS = [10_000, 60_000, 300_000] as const
/** A node that was connected for this long without a crash starts at the first step again, ms. */
const STABLE_MS = 300_000
const LONGEST_MS = Math.max(...BACK_OFF_MS)

/** What the row of a node knows of its crashes. Times in UTC ms, of the cluster's clock. */
export interface CrashHistory {
  /** Crashes in a row, each less than `STABLE_MS` after the return from the one before. */
  crashCount: number
  connectionTime: number | null
}

/** How many crashes in a row there are with one at `now`. */
export const countCrash = ({ crashCount, connectionTime }: CrashHistory, now: number): number =>
  connectionTime !== null && now - connectionTime >= STABLE_MS ? 1 : crashCount + 1

/** Until when a node that comes back at `now` is backed off; null after a single crash, which is none repeated. */
export function backOffUntil(crashCount: number, now: number): number | null {
  if (crashCount < 2) return null
  return now + (BACK_OFF_MS[crashCount - 2] ?? LONGEST_MS)
}

/** A clock that was set back does not make a back-off longer than the longest. */
export const isBackedOff = (until: number | null, now: number): until is number =>
  until !== null && now < until && until - now <= LONGEST_MS
