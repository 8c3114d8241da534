/** From 0 (nothing arrives) to 5 (excellent). */
export type Level = 0 | 1 | 2 | 3 | 4 | 5

/** The packets of a publisher's media that arrived within an interval. */
export interface ReceptionCounts {
  /** Whether its transport has a connection. */
  isConnected: boolean
  /** Whether it has a track that sends packets all the time. */
  isActive: boolean
  received: number
  /** Packets that were missing when the next one came, before their repair. */
  lost: number
  /** The jitter of the steadiest track. */
  jitterMs: number
}

interface Limits {
  level: Level
  /** The share of lost packets. */
  loss: number
  jitterMs: number
}

/** The most that each level allows, the best level first. */
const LIMITS: readonly Limits[] = [
  { level: 5, loss: 0.01, jitterMs: 30 },
  { level: 4, loss: 0.03, jitterMs: 60 },
  { level: 3, loss: 0.08, jitterMs: 120 },
  { level: 2, loss: 0.18, jitterMs: 250 },
]
/** A level rises only within this share of the limits, so that it does not alternate at one of them. */
const TO_RISE = 0.7
/** With fewer packets a single loss would count too much. */
const LEAST_PACKETS = 25

function levelWithin({ received, lost, jitterMs }: ReceptionCounts, share: number): Level {
  const loss = lost / (received + lost)
  return LIMITS.find((limits) => loss < limits.loss * share && jitterMs < limits.jitterMs * share)?.level ?? 1
}

/** The level after an interval; `former` when it proves nothing. It falls at once, and rises when the network is clearly better. */
export function nextLevel(former: Level | undefined, counts: ReceptionCounts): Level | undefined {
  const { isConnected, isActive, received, lost } = counts
  // A client whose transport is not connected yet is no lost one.
  if (former === undefined && received === 0) return undefined
  if (!isConnected || (isActive && received === 0)) return 0
  if (received + lost < LEAST_PACKETS) return former
  const measured = levelWithin(counts, 1)
  if (former === undefined || measured <= former) return measured
  return Math.max(former, levelWithin(counts, TO_RISE)) as Level
}
