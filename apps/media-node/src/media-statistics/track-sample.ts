import type { types } from 'mediasoup'
import { clockRateOf } from '../tracks/rtp.js'
import type { TrackConditions } from './media-metrics.js'
import type { CountersBySsrc, Direction, TrackCounters } from './track-counters.js'

type Stats = types.ProducerStat | types.ConsumerStat

interface TrackSample extends TrackConditions {
  counters: CountersBySsrc
}

/** A producer or a consumer. */
export interface SampledTrack {
  direction: Direction
  track: Pick<types.Consumer, 'kind' | 'closed' | 'rtpParameters'> & { getStats(): Promise<Stats[]> }
}

const TYPES = { in: 'inbound-rtp', out: 'outbound-rtp' } as const

/** Undefined when the track has ended or had no packet yet. */
export async function readTrack({ direction, track }: SampledTrack): Promise<TrackSample | undefined> {
  const all: Stats[] = await track.getStats().catch(() => [])
  // Statistics of a consumer include those of its producer.
  const stats = all.filter(({ type }) => type === TYPES[direction])
  if (stats.length === 0) return undefined
  const clockRate = clockRateOf(track)
  const roundTrips = stats.flatMap(({ roundTripTime }) => (roundTripTime ? [roundTripTime / 1_000] : []))
  return {
    counters: new Map(stats.map((each) => [each.ssrc, countersOf(each)])),
    jitterSeconds: Math.min(...stats.map(({ jitter }) => jitter / clockRate)),
    roundTripSeconds: roundTrips.length === 0 ? undefined : Math.min(...roundTrips),
  }
}

const countersOf = (stats: Stats): TrackCounters => ({
  packets: stats.packetCount,
  bytes: stats.byteCount,
  lost: stats.packetsLost,
  retransmitted: stats.packetsRetransmitted,
  repaired: stats.packetsRepaired,
  nacks: stats.nackCount,
  plis: stats.pliCount,
  firs: stats.firCount,
})
