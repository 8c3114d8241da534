import type { RecordingStopReason } from '@session-service/contract'
import type { RecordingState } from '../recording.entity.js'

/** A part as it stands. Ages in ms. */
export interface PartSeen {
  part: number
  nodeId: string
  epoch: number
  isEnded: boolean
  /** It brought no files, or only a few seconds. */
  isPoor: boolean
  /** A full disk ended or refused it. */
  isOutOfDisk: boolean
  /** Since its end; 0 before. */
  endedForMs: number
  /** Not ended, but no node runs it any more, for long enough to be sure. */
  isLost: boolean
}

export interface RecordingSeen {
  status: RecordingState
  /** In its status. */
  ageMs: number
  /** The master that starts it lives. */
  hasStarter: boolean
  /** It was deleted, its files are not all gone. */
  isRemoved: boolean
  /** Its file is being made, or it is tried again later. */
  isClaimed: boolean
  hasSession: boolean
  /** Of the media that its session has; null while it has none. */
  epoch: number | null
  /** In their order. */
  parts: readonly PartSeen[]
}

export type Step =
  | { kind: 'wait' }
  | { kind: 'giveUpStart' }
  | { kind: 'continue'; after: number }
  | { kind: 'stop'; reason: RecordingStopReason }
  | { kind: 'askToStop'; parts: PartSeen[] }
  | { kind: 'giveUpParts'; parts: PartSeen[] }
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
export function nextStep(seen: RecordingSeen): Step {
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
function stepOfStarted({ hasSession, epoch, parts }: RecordingSeen): Step {
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

function stepOfStopped({ isClaimed, parts }: RecordingSeen): Step {
  const open = parts.filter(({ isEnded }) => !isEnded)
  const lost = open.filter(({ isLost }) => isLost)
  if (lost.length > 0) return { kind: 'giveUpParts', parts: lost }
  if (open.length > 0) return { kind: 'askToStop', parts: open }
  return isClaimed ? WAIT : { kind: 'assemble' }
}

/** How many at the end meet the condition. */
function trailing(parts: readonly PartSeen[], condition: (part: PartSeen) => boolean): number {
  const first = parts.findLastIndex((part) => !condition(part))
  return parts.length - 1 - first
}
