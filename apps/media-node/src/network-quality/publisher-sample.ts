import type { types } from 'mediasoup'
import type { Peer } from '../rooms/peer.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { clockRateOf } from '../tracks/rtp.js'
import type { ReceptionCounts } from './level.js'

interface Counted {
  packets: number
  lost: number
}

/** The counters of a publisher's tracks at one time. */
export interface PublisherSample {
  /** By SSRC: a track may have several layers. */
  counted: ReadonlyMap<number, Counted>
  jitterMs: number
  isConnected: boolean
  isActive: boolean
}

type Stats = Pick<types.ProducerStat, 'ssrc' | 'packetCount' | 'packetsLost' | 'packetsRepaired' | 'jitter'>

/** Reads the counters of all tracks that the participant publishes. */
export async function readSample(peer: Peer): Promise<PublisherSample> {
  const streams = [...peer.streams.values()]
  const tracks = streams.flatMap((stream) => stream.tracks).filter(({ producer }) => !producer.closed)
  const read = await Promise.all(tracks.map(readTrack))
  const jitters = read.flatMap(({ stats, clockRate }) => stats.map(({ jitter }) => (jitter / clockRate) * 1_000))
  return {
    counted: new Map(read.flatMap(({ stats }) => stats.map((each) => [each.ssrc, countedOf(each)]))),
    jitterMs: jitters.length === 0 ? 0 : Math.min(...jitters),
    isConnected: peer.sendTransports.some(({ transport }) => !['disconnected', 'closed'].includes(transport.iceState)),
    // Browsers send no packets of a screen that does not change.
    isActive: streams.some(
      ({ tracks: own, typeOfVideo }) => typeOfVideo !== 'SCREEN' && own.some(({ paused }) => !paused),
    ),
  }
}

async function readTrack({ producer }: PublishedTrack): Promise<{ stats: Stats[]; clockRate: number }> {
  // Fails only when the track has ended.
  const stats = await producer.getStats().catch(() => [])
  return { stats: stats.filter(({ type }) => type === 'inbound-rtp'), clockRate: clockRateOf(producer) }
}

/** Repaired packets were lost before, and are counted twice: as received and as lost. */
const countedOf = ({ packetCount, packetsLost, packetsRepaired }: Stats): Counted => ({
  packets: packetCount - packetsRepaired,
  lost: packetsLost,
})

/** The packets that arrived between two samples. */
export function countsBetween(before: PublisherSample, after: PublisherSample): ReceptionCounts {
  let [received, lost] = [0, 0]
  for (const [ssrc, { packets, lost: missing }] of after.counted) {
    const former = before.counted.get(ssrc)
    received += Math.max(0, packets - (former?.packets ?? 0))
    // Late packets lower the count of lost ones.
    lost += Math.max(0, missing - (former?.lost ?? 0))
  }
  const { jitterMs, isConnected } = after
  // New tracks may still wait for their connection.
  const hasFormer = before.counted.size === 0 || [...after.counted.keys()].some((ssrc) => before.counted.has(ssrc))
  return { received, lost, jitterMs, isConnected, isActive: before.isActive && after.isActive && hasFormer }
}
