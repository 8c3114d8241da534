import type { RecordingStopReason } from '@session-service/contract'
import type { PartSnapshot, RecordingSnapshot } from '../repository/recording-snapshot.js'

export type Step =
  | { kind: 'wait' }
  | { kind: 'giveUpStart' }
  | { kind: 'continue'; after: number }
  | { kind: 'stop'; reason: RecordingStopReason }
  | { kind: 'askToStop'; parts: PartSnapshot[] }
  | { kind: 'giveUpParts'; parts: PartSnapshot[] }
  | { kind: 'assemble' }
  | { kind: 'clear' }

/** A node answers sooner than this, or the bus says that it did not. */
const START_MS = 45_000
/** A recorder that ends so often one after another, each time soon, is not started again. */
const MOST_POOR = 5
/** How long the next part waits after so many poor ones, ms. */
const BACK_OFF_MS = [0, 0, 1_000, 2_000, 4_000]

const WAIT: Step = { kind: 'wait' }

/** What a recording needs next, whoever did not do it. Pure: all of it is in the database and the heartbeats. */
export function nextStep(seen: RecordingSnapshot): Step {
  if (seen.isRemoved) return seen.isClaimed ? WAIT : { kind: 'clear' }
  switch (seen.status) {
    case 'starting':
      return !seen.hasStarter || seen.ageMs > START_MS ? { kind: 'giveUpStart' } : WAIT
    case 'started':
      return stepOfStarted(seen)
    case 'stopped':
      return stepOfStopped(seen)
    default:
      return WAIT
  }
}

/** Its last part is over, or the session's media is elsewhere by now: another one follows where the session is. */
function stepOfStarted({ hasSession, epoch, parts }: RecordingSnapshot): Step {
  const last = parts.at(-1)
  if (!hasSession || !last) return { kind: 'stop', reason: 'sessionClosedByServer' }
  if (epoch === null) return WAIT
  if (last.epoch < epoch) return { kind: 'continue', after: last.part }
  if (!last.isEnded && !last.isLost) return WAIT
  const poor = trailing(parts, ({ isPoor, isEnded, epoch: of }) => isPoor && isEnded && of === epoch)
  if (poor >= MOST_POOR) {
    const isOutOfDisk = parts.slice(-poor).some((part) => part.isOutOfDisk)
    return { kind: 'stop', reason: isOutOfDisk ? 'notEnoughDisk' : 'mediaServerDisconnect' }
  }
  const isTime = last.isLost || last.endedForMs >= (BACK_OFF_MS[poor] ?? 0)
  return isTime ? { kind: 'continue', after: last.part } : WAIT
}

function stepOfStopped({ isClaimed, parts }: RecordingSnapshot): Step {
  const open = parts.filter(({ isEnded }) => !isEnded)
  const lost = open.filter(({ isLost }) => isLost)
  if (lost.length > 0) return { kind: 'giveUpParts', parts: lost }
  if (open.length > 0) return { kind: 'askToStop', parts: open }
  return isClaimed ? WAIT : { kind: 'assemble' }
}

/** How many at the end meet the condition. */
function trailing(parts: readonly PartSnapshot[], condition: (part: PartSnapshot) => boolean): number {
  const first = parts.findLastIndex((part) => !condition(part))
  return parts.length - 1 - first
}
