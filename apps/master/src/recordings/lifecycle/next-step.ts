import type { RecordingStopReason } from '@session-service/contract'
import { backoffMs } from '@session-service/server-kit'
import type { PartSnapshot, RecordingSnapshot } from '../repository/recording-snapshot.js'

export type Step =
  | { kind: 'wait' }
  | { kind: 'failStart' }
  | { kind: 'addPart'; after: number }
  | { kind: 'stop'; reason: RecordingStopReason }
  | { kind: 'requestStop'; parts: PartSnapshot[] }
  | { kind: 'abandonParts'; parts: PartSnapshot[] }
  | { kind: 'finalize' }
  | { kind: 'removeFiles' }

/** A media node answers a start sooner, or the request to it has timed out. */
const START_TIMEOUT_MS = 45_000
/** After this many short parts in a row no recorder is started again. */
const MAX_SHORT_PARTS = 5
/** The first short part is followed at once, later ones after a delay. */
const BACKOFF = { firstMs: 1_000, longestMs: 4_000, jitter: false }

const WAIT: Step = { kind: 'wait' }

/** The next step of a recording, for any master. Pure: the snapshot comes from the database and the heartbeats. */
export function nextStep(recording: RecordingSnapshot): Step {
  if (recording.isRemoved) return recording.isClaimed ? WAIT : { kind: 'removeFiles' }
  switch (recording.status) {
    case 'starting':
      return !recording.hasStarter || recording.ageMs > START_TIMEOUT_MS ? { kind: 'failStart' } : WAIT
    case 'started':
      return stepOfStarted(recording)
    case 'stopped':
      return stepOfStopped(recording)
    default:
      return WAIT
  }
}

/** A part follows on the media node of the session when the last one has ended, or the media of the session has moved. */
function stepOfStarted({ hasSession, epoch, parts }: RecordingSnapshot): Step {
  const last = parts.at(-1)
  if (!hasSession || !last) return { kind: 'stop', reason: 'sessionClosedByServer' }
  if (epoch === null) return WAIT
  if (last.epoch < epoch) return { kind: 'addPart', after: last.part }
  // A deferred part may be composed for long after its recorder has failed.
  if (!last.isEnded && !last.isLost && !last.isRecorded) return WAIT
  const short = trailing(parts, (part) => part.isShort && part.isEnded && part.epoch === epoch)
  if (short >= MAX_SHORT_PARTS) {
    const isOutOfDisk = parts.slice(-short).some((part) => part.isOutOfDisk)
    return { kind: 'stop', reason: isOutOfDisk ? 'notEnoughDisk' : 'mediaServerDisconnect' }
  }
  const delayMs = short < 2 ? 0 : backoffMs(short - 1, BACKOFF)
  return !last.isEnded || last.sinceEndMs >= delayMs ? { kind: 'addPart', after: last.part } : WAIT
}

function stepOfStopped({ isClaimed, parts }: RecordingSnapshot): Step {
  const open = parts.filter(({ isEnded }) => !isEnded)
  const lost = open.filter(({ isLost }) => isLost)
  if (lost.length > 0) return { kind: 'abandonParts', parts: lost }
  const recorded = open.filter(({ isRecorded }) => !isRecorded)
  if (recorded.length > 0) return { kind: 'requestStop', parts: recorded }
  if (open.length > 0) return WAIT
  return isClaimed ? WAIT : { kind: 'finalize' }
}

/** The number of parts at the end that meet the condition. */
function trailing(parts: readonly PartSnapshot[], condition: (part: PartSnapshot) => boolean): number {
  const first = parts.findLastIndex((part) => !condition(part))
  return parts.length - 1 - first
}
