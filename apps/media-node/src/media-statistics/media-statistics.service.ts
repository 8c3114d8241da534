import { Injectable, Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import type { types } from 'mediasoup'
import { StatisticsSettings } from '../node/statistics-settings.js'
import { MediaService } from '../rooms/media.service.js'
import type { Room } from '../rooms/room.js'
import { RoomPolling } from '../rooms/room-polling.js'
import { KeyFrames } from './key-frames.js'
import { exportMediaGauges } from './media-gauges.js'
import { MediaMetrics } from './media-metrics.js'
import { batchSize } from './pacing.js'
import { type CountersBySsrc, countedBetween, type Direction, highest } from './track-counters.js'
import { readTrack, type SampledTrack } from './track-sample.js'

const TICK_MS = 1_000

type Sample = () => Promise<void>

/** Samples all tracks and transports of the node once in an interval, a few at a time, for the metrics. */
@Injectable()
export class MediaStatisticsService implements OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(MediaStatisticsService.name)
  readonly #metrics = new MediaMetrics()
  readonly #keyFrames = new KeyFrames()
  readonly #counted = new WeakMap<SampledTrack['track'], CountersBySsrc>()
  #waiting: Sample[] = []
  /** By the monotonic clock, ms. */
  #roundStart = -Infinity
  readonly #polling: RoomPolling

  constructor(
    private readonly media: MediaService,
    private readonly settings: StatisticsSettings,
  ) {
    exportMediaGauges(media)
    const options = { everyMs: TICK_MS, what: 'sampling the media statistics', logger: this.#logger }
    this.#polling = new RoomPolling(media.rooms, () => this.sample(performance.now()), options)
  }

  onModuleInit(): void {
    this.#polling.start()
  }

  onModuleDestroy(): void {
    this.#polling.stop()
  }

  /** Takes the samples that are due at this time (monotonic, ms). */
  async sample(now: number): Promise<void> {
    const { media: intervalMs } = this.settings.intervals
    if (intervalMs === 0) {
      this.#waiting = []
      return this.#keyFrames.stop()
    }
    // Samples of former tracks would keep them in memory.
    if (this.media.rooms.size === 0) this.#waiting = []
    if (this.#waiting.length === 0 && now >= this.#roundStart + intervalMs) {
      this.#roundStart = now
      this.#waiting = [...this.media.rooms].flatMap((room) => this.#samplesOf(room))
    }
    const count = batchSize(this.#waiting.length, this.#roundStart + intervalMs - now, TICK_MS)
    await Promise.all(this.#waiting.splice(0, count).map((take) => take()))
  }

  #samplesOf({ streams, peers }: Pick<Room, 'streams' | 'peers'>): Sample[] {
    const producers = [...streams.values()].flatMap(({ tracks }) => tracks.map(({ producer }) => producer))
    const receivers = [...peers.values()].filter(({ subscriptions }) => subscriptions.size > 0)
    const publishers = [...peers.values()].filter((peer) => peer.streams.size > 0)
    const consumers = receivers.flatMap(({ subscriptions }) =>
      [...subscriptions.values()].flatMap((subscription) => subscription.consumers),
    )
    const incoming = publishers.flatMap(({ sendTransports }) => sendTransports.map(({ transport }) => transport))
    const outgoing = receivers.flatMap(({ recvTransports }) => recvTransports.map(({ transport }) => transport))
    return [
      ...producers.map((track) => () => this.#sampleProducer(track)),
      ...consumers.map((track) => () => this.#sampleTrack({ direction: 'out', track })),
      ...incoming.map((transport) => () => this.#sampleBitrate('in', transport)),
      ...outgoing.map((transport) => () => this.#sampleBitrate('out', transport)),
    ]
  }

  #sampleProducer(track: types.Producer): Promise<void> {
    this.#keyFrames.follow(track)
    return this.#sampleTrack({ direction: 'in', track })
  }

  async #sampleTrack(sampled: SampledTrack): Promise<void> {
    const { direction, track } = sampled
    if (track.closed) return
    const sample = await readTrack(sampled)
    if (!sample) return
    const before = this.#counted.get(track) ?? new Map()
    const now = highest(before, sample.counters)
    this.#counted.set(track, now)
    this.#metrics.track({ direction, kind: track.kind }, countedBetween(before, now), sample)
  }

  async #sampleBitrate(direction: Direction, transport: types.WebRtcTransport): Promise<void> {
    if (transport.closed) return
    // Fails only when the transport has ended.
    const [stats] = await transport.getStats().catch(() => [])
    const bitrate = direction === 'in' ? stats?.recvBitrate : stats?.sendBitrate
    if (bitrate !== undefined && bitrate > 0) this.#metrics.bitrate(direction, bitrate)
  }
}
