import { serviceClock } from '@session-service/server-kit'

/**
 * When a file ends whose program was killed: at its last write, not when the death was noticed. A clock of a network
 * disk may differ, so the result stays within the recorded time.
 */
export function cutEnd({ startedAt, endedAt }: { startedAt: number; endedAt: number }, mtimeMs: number): number {
  // oxlint-disable-next-line clock/no-wall-clock -- compared with times of files
  const writtenAt = serviceClock.now() - (Date.now() - mtimeMs)
  return Math.max(startedAt, Math.min(endedAt, Math.round(writtenAt)))
}
