import { type ReferenceClock, serviceClock } from '@session-service/server-kit'

type Clock = Pick<ReferenceClock, 'now'>

/** The last write of a file in cluster time: file times are in the time of this machine. */
export function writtenAt(mtimeMs: number, clock: Clock = serviceClock): number {
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  return clock.now() - (Date.now() - mtimeMs)
}

/**
 * The end of a file whose program was killed: its last write, not the detection of the death. The clock of a network
 * disk may differ, so the result is clamped to the recorded time.
 */
export function cutEnd(
  { startedAt, endedAt }: { startedAt: number; endedAt: number },
  mtimeMs: number,
  clock: Clock = serviceClock,
): number {
  return Math.max(startedAt, Math.min(endedAt, Math.round(writtenAt(mtimeMs, clock))))
}
