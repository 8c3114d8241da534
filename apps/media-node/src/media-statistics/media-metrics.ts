import { metrics } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import { type Direction, lossRatio, type TrackCounters } from './track-counters.js'

const TRACK = { direction: ['in', 'out'], kind: ['audio', 'video'] } as const
const SECONDS = [0.002, 0.005, 0.01, 0.02, 0.03, 0.06, 0.12, 0.25, 0.5, 1, 2]
const BITS = [16e3, 32e3, 64e3, 128e3, 256e3, 512e3, 1e6, 2e6, 4e6, 8e6, 16e6, 32e6, 64e6]

const counterOf = (what: string) => ({
  help: `${what}, as of the last sample of each track`,
  labels: TRACK,
})

/** The part of a track's sample beside its counters. */
export interface TrackConditions {
  jitterSeconds: number
  /** Undefined until RTCP has measured it. */
  roundTripSeconds: number | undefined
}

/** The quality of the media on this node. `in`: from publishers; `out`: to subscribers. */
export class MediaMetrics {
  readonly #counters = {
    packets: metrics.counter('media_packets_total', counterOf('RTP packets, with repeated ones')),
    bytes: metrics.counter('media_bytes_total', counterOf('Bytes of RTP packets')),
    lost: metrics.counter('media_packets_lost_total', counterOf('Lost RTP packets, before their repair')),
    retransmitted: metrics.counter('media_packets_retransmitted_total', counterOf('Repeated RTP packets')),
    repaired: metrics.counter('media_packets_repaired_total', counterOf('Lost RTP packets that were repaired')),
    nacks: metrics.counter('media_nacks_total', counterOf('Requests to repeat packets (NACK) of the receiver')),
    plis: metrics.counter('media_plis_total', counterOf('Key frame requests of the receiver: PLI')),
    firs: metrics.counter('media_firs_total', counterOf('Key frame requests of the receiver: FIR')),
  }
  readonly #loss = metrics.histogram('media_loss_ratio', {
    help: 'Share of lost packets between two samples of a track',
    labels: TRACK,
    buckets: [0, 0.005, 0.01, 0.02, 0.03, 0.05, 0.08, 0.12, 0.18, 0.3, 0.5],
  })
  readonly #jitter = metrics.histogram('media_jitter_seconds', {
    help: 'Interarrival jitter at the receiver of a track, at each sample',
    labels: TRACK,
    buckets: SECONDS,
  })
  readonly #roundTrip = metrics.histogram('media_round_trip_seconds', {
    help: 'Round-trip time between the node and the client, at each sample of a track',
    labels: TRACK,
    buckets: SECONDS,
  })
  readonly #bitrate = metrics.histogram('media_transport_bits_per_second', {
    help: 'Bitrate of the media of a client in one direction, at each sample of its transport',
    labels: { direction: TRACK.direction },
    buckets: BITS,
  })

  track(
    labels: { direction: Direction; kind: types.MediaKind },
    counted: TrackCounters,
    conditions: TrackConditions,
  ): void {
    for (const [name, counter] of Object.entries(this.#counters)) {
      const by = counted[name as keyof TrackCounters]
      if (by > 0) counter.inc(labels, by)
    }
    // A track that is muted or not forwarded has no conditions.
    if (counted.packets === 0) return
    const loss = lossRatio(labels.direction, counted)
    if (loss !== undefined) this.#loss.observe(labels, loss)
    this.#jitter.observe(labels, conditions.jitterSeconds)
    if (conditions.roundTripSeconds !== undefined) this.#roundTrip.observe(labels, conditions.roundTripSeconds)
  }

  bitrate(direction: Direction, bitsPerSecond: number): void {
    this.#bitrate.observe({ direction }, bitsPerSecond)
  }
}
