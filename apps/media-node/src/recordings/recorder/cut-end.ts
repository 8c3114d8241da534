import { type ReferenceClock, serviceClock } from '@session-service/server-kit'

type Clock = Pick<ReferenceClock, 'now'>

/** The time of a file's last write by the clock of the cluster: files have the time of this machine. */
export function writtenAt(mtimeMs: number, clock: Clock = serviceClock): number {
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  return clock.now() - (Date.now() - mtimeMs)
}

/**
 * When a file ends whose program was killed: at its last write, not when the death was noticed. A clock of a network
 * disk may differ, so the result stays within the recorded time.
 */
export function cutEnd(
  { startedAt, endedAt }: { startedAt: number; endedAt: number },
  mtimeMs: number,
  clock: Clock = serviceClock,
): number {
  return Math.max(startedAt, Math.min(endedAt, Math.round(writtenAt(mtimeMs, clock))))
}
