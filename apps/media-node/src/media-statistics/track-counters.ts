/** The counts of mediasoup for one RTP stream since its start. */
export interface TrackCounters {
  packets: number
  bytes: number
  /** Missing at the receiver, before their repair. */
  lost: number
  retransmitted: number
  /** Lost ones that arrived later; known of received streams alone. */
  repaired: number
  nacks: number
  plis: number
  firs: number
}

export type CountersBySsrc = ReadonlyMap<number, TrackCounters>
/** `in`: from publishers to the node; `out`: from the node to subscribers. */
export type Direction = 'in' | 'out'

export const NO_COUNTS: TrackCounters = {
  packets: 0,
  bytes: 0,
  lost: 0,
  retransmitted: 0,
  repaired: 0,
  nacks: 0,
  plis: 0,
  firs: 0,
}
const NAMES = Object.keys(NO_COUNTS) as (keyof TrackCounters)[]

const combined = (
  one: TrackCounters,
  other: TrackCounters,
  combine: (one: number, other: number) => number,
): TrackCounters => {
  const result = { ...NO_COUNTS }
  for (const name of NAMES) result[name] = combine(one[name], other[name])
  return result
}

/** The highest counts so far: late packets lower the count of lost ones, but the exported counters never fall. */
export function highest(former: CountersBySsrc, now: CountersBySsrc): CountersBySsrc {
  const result = new Map(former)
  for (const [ssrc, counters] of now) result.set(ssrc, combined(former.get(ssrc) ?? NO_COUNTS, counters, Math.max))
  return result
}

/** The counts of a track, which may have several layers, between two results of `highest`. */
export function countedBetween(former: CountersBySsrc, now: CountersBySsrc): TrackCounters {
  let sum = NO_COUNTS
  for (const [ssrc, counters] of now) {
    const added = combined(counters, former.get(ssrc) ?? NO_COUNTS, (after, before) => after - before)
    sum = combined(sum, added, (one, other) => one + other)
  }
  return sum
}

/** With fewer packets a single loss would count too much. */
const LEAST_PACKETS = 25

/** The share of lost packets. Undefined when too few packets were sent. */
export function lossRatio(direction: Direction, { packets, lost, repaired }: TrackCounters): number | undefined {
  // Senders count lost packets as sent; receivers count repaired ones as received and as lost.
  const sent = direction === 'out' ? packets : packets - repaired + lost
  return sent < LEAST_PACKETS ? undefined : Math.min(1, lost / sent)
}
