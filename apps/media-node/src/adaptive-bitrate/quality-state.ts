import { SMALL_KBPS, type Quality } from '../rooms/transcoder.js'

/** The cause of the small video: the subscriber's configured maximum, or its network. */
type Constraint = 'limit' | 'network'

/** The quality of a camera that one subscriber receives, and when it may change. Times are those of a monotonic clock, ms. */
export interface QualityState {
  readonly quality: Quality
  /** The cause of the small quality. */
  readonly constraint?: Constraint | undefined
  /** When the quality became due. */
  readonly changedAt: number
  /** The network has been overloaded since then; only with the full quality. */
  readonly badSince?: number | undefined
  /** There has been enough bandwidth for the full quality since then; only with the small one. */
  readonly goodSince?: number | undefined
  /** The full quality is due although nothing shows that the network takes it. */
  readonly isTrial: boolean
  /** The time from a change to the small quality to the next trial. */
  readonly trialAfterMs: number
}

export interface QualitySample {
  now: number
  /** The average bitrate of the original, kbps; 0: unknown, or nothing is sent. */
  cameraKbps: number
  /** The maximum of the subscriber, kbps; 0: none. */
  limitKbps: number
  /** Share of lost packets, 0 to 1. */
  lossRate: number
  /** The bandwidth estimate, kbps; absent: none. */
  availableKbps?: number | undefined
}

/** The network has to be overloaded this long before the quality falls. */
export const DOWN_MS = 2_000
/** The bandwidth has to be sufficient this long before the quality rises. */
export const UP_MS = 10_000
/** Retransmissions repair less. */
const HEAVY_LOSS = 0.1
/** Counts if the estimate is too low as well. */
const LIGHT_LOSS = 0.02
/** Factor of the bitrate of the original. */
const UP_HEADROOM = 1.3
/** So that a bitrate near the limit does not change the quality back and forth. */
const LIMIT_HEADROOM = 1.1
/** The small video has to save this much. */
const LEAST_GAIN = 1.2
const FIRST_TRIAL_MS = 30_000
const LONGEST_TRIAL_MS = 480_000
/** A trial has succeeded when it lasts this long. */
const TRIAL_MS = 30_000

export const newQualityState = (now: number): QualityState => ({
  quality: 'full',
  changedAt: now,
  isTrial: false,
  trialAfterMs: FIRST_TRIAL_MS,
})

export function nextQualityState(state: QualityState, sample: QualitySample): QualityState {
  if (sample.cameraKbps === 0) return state
  return state.quality === 'full' ? fromFull(state, sample) : fromSmall(state, sample)
}

function fromFull(state: QualityState, sample: QualitySample): QualityState {
  const { now, cameraKbps, limitKbps } = sample
  if (limitKbps > 0 && cameraKbps > limitKbps) return toSmall(state, now, 'limit')
  if (!isOverloaded(sample)) return { ...state, badSince: undefined }
  const { badSince = now } = state
  return now - badSince < DOWN_MS ? { ...state, badSince } : toSmall(state, now, 'network')
}

function fromSmall(state: QualityState, sample: QualitySample): QualityState {
  const { now, limitKbps, lossRate } = sample
  const isGood = lossRate < LIGHT_LOSS && hasBandwidth(state, sample)
  const goodSince = isGood ? (state.goodSince ?? now) : undefined
  if (goodSince !== undefined && now - goodSince >= UP_MS) return toFull(state, now, false)
  const isLimited = state.constraint === 'limit' || (limitKbps > 0 && sample.cameraKbps > limitKbps)
  const isTrialDue = now - state.changedAt >= state.trialAfterMs && lossRate < LIGHT_LOSS
  return isTrialDue && !isLimited ? toFull(state, now, true) : { ...state, goodSince }
}

const isOverloaded = ({ cameraKbps, lossRate, availableKbps = Infinity }: QualitySample): boolean =>
  cameraKbps > SMALL_KBPS * LEAST_GAIN &&
  (lossRate >= HEAVY_LOSS || (lossRate >= LIGHT_LOSS && availableKbps < cameraKbps))

/** After an overload the network has to show that it takes the original. */
function hasBandwidth(
  { constraint }: QualityState,
  { cameraKbps, limitKbps, availableKbps = 0 }: QualitySample,
): boolean {
  if (limitKbps > 0 && cameraKbps * LIMIT_HEADROOM > limitKbps) return false
  return constraint === 'limit' || availableKbps >= cameraKbps * UP_HEADROOM
}

function toSmall(state: QualityState, now: number, constraint: Constraint): QualityState {
  const hasFailed = state.isTrial && now - state.changedAt < TRIAL_MS
  const trialAfterMs = hasFailed ? Math.min(2 * state.trialAfterMs, LONGEST_TRIAL_MS) : FIRST_TRIAL_MS
  return { quality: 'small', constraint, changedAt: now, isTrial: false, trialAfterMs }
}

const toFull = ({ trialAfterMs }: QualityState, now: number, isTrial: boolean): QualityState => ({
  quality: 'full',
  changedAt: now,
  isTrial,
  trialAfterMs,
})
