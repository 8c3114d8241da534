import { Logger, type OnModuleDestroy, type OnModuleInit } from '@nestjs/common'
import { metrics } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { MediaService } from '../rooms/media.service.js'
import type { Peer } from '../rooms/peer.js'
import { RoomPolling } from '../rooms/room-polling.js'
import type { Stream } from '../rooms/stream.js'
import type { Subscription } from '../rooms/subscription.js'
import type { Quality, QualityControl } from '../rooms/transcoder.js'
import type { MediaTransport } from '../tracks/media-transport.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { newQualityState, nextQualityState, type QualityState, type QualitySample } from './quality-state.js'
import { VideoBitrate } from './video-bitrate.js'

const INTERVAL_MS = 1_000
/** The score of a consumer that loses almost nothing. */
const BEST_SCORE = 10
/** The small video of a stream is not tried again earlier. */
const AFTER_FAILURE_MS = 60_000

/** Gives the subscribers of cameras a smaller video while their limit or their network does not take the original. */
export class AdaptiveBitrateService implements QualityControl, OnModuleInit, OnModuleDestroy {
  readonly #logger = new Logger(AdaptiveBitrateService.name)
  readonly #states = new WeakMap<Stream, WeakMap<Peer, QualityState>>()
  /** When the small video of the stream has failed. */
  readonly #failures = new WeakMap<Stream, number>()
  readonly #bitrates = new WeakMap<PublishedTrack, VideoBitrate>()
  readonly #changes = metrics.counter('camera_quality_changes_total', {
    help: 'Changes of the quality that subscribers of cameras receive',
    labels: { quality: ['full', 'small'] },
  })
  readonly #polling: RoomPolling

  /** @param clock monotonic, ms */
  constructor(
    private readonly media: MediaService,
    private readonly clock: () => number = () => performance.now(),
  ) {
    const options = { everyMs: INTERVAL_MS, what: 'measuring cameras', logger: this.#logger }
    this.#polling = new RoomPolling(media.rooms, () => this.measure(), options)
  }

  onModuleInit(): void {
    this.media.qualityControl = this
    this.#polling.start()
  }

  onModuleDestroy(): void {
    this.#polling.stop()
  }

  qualityOf(stream: Stream, peer: Peer): Quality {
    return this.#state(stream, peer).quality
  }

  refused(stream: Stream, peer: Peer): void {
    this.#keep(stream, peer, newQualityState(this.clock()))
  }

  failed(stream: Stream): void {
    const now = this.clock()
    this.#failures.set(stream, now)
    for (const { peer } of stream.subscriptions) this.#keep(stream, peer, newQualityState(now))
    stream.reportReplaced(stream.subscriptions)
  }

  /** Measures the videos of all cameras, and the networks of their subscribers. */
  async measure(): Promise<void> {
    if (!this.media.transcoder) return
    const rooms = [...this.media.rooms].filter(({ cameras }) => cameras.size > 0)
    const streams = rooms.flatMap((room) => [...room.streams.values()])
    await Promise.all(streams.filter(({ publisher }) => publisher.adaptativeBitrate).map((each) => this.#adapt(each)))
  }

  async #adapt(stream: Stream): Promise<void> {
    const video = videoOf(stream)
    if (!video || video.producer.closed || stream.subscriptions.size === 0) return
    const bitrate = this.#bitrates.get(video) ?? new VideoBitrate()
    this.#bitrates.set(video, bitrate)
    // Fails only when the video has ended.
    const stats = await video.producer.getStats().catch(() => [])
    // A camera has one live layer; others carry single bursts.
    const [live] = stats.filter(({ type }) => type === 'inbound-rtp').sort((a, b) => b.byteCount - a.byteCount)
    if (live) bitrate.counted(live.byteCount, live.timestamp)
    await Promise.all([...stream.subscriptions].map((each) => this.#follow(each, bitrate.kbps)))
  }

  async #follow(subscription: Subscription, cameraKbps: number): Promise<void> {
    const { stream, peer, video } = subscription
    if (!video || video.paused || peer.subscriptions.get(stream.id) !== subscription) return
    const state = this.#state(stream, peer)
    const network = await this.#network(subscription.transport, video, state)
    if (peer.subscriptions.get(stream.id) !== subscription) return
    const { maxRecvKbps: limitKbps } = peer.limits
    const next = this.#affordable(stream, state, { now: this.clock(), cameraKbps, limitKbps, ...network })
    this.#keep(stream, peer, next)
    if (next.quality === state.quality) return
    this.#changes.inc({ quality: next.quality })
    const subject = { roomId: peer.room.id, streamId: stream.id, connectionId: peer.connectionId, cameraKbps }
    this.#logger.debug({ ...subject, ...network, constraint: next.constraint }, `the ${next.quality} video is due`)
    stream.reportReplaced([subscription])
  }

  /** Without requests to the worker as long as the network is good: a camera may have a thousand subscribers. */
  async #network(
    { transport: receiving }: MediaTransport,
    video: types.Consumer,
    { quality, badSince }: QualityState,
  ): Promise<Pick<QualitySample, 'lossRate' | 'availableKbps'>> {
    if (quality === 'full' && badSince === undefined && video.score.score >= BEST_SCORE) return { lossRate: 0 }
    const [sent, [transport]] = await Promise.all([
      video.getStats().catch(() => []),
      receiving.getStats().catch(() => []),
    ])
    const fractionLost = sent.find(({ type }) => type === 'outbound-rtp')?.fractionLost ?? 0
    const available = transport?.availableOutgoingBitrate
    return { lossRate: fractionLost / 256, ...(available !== undefined && { availableKbps: available / 1_000 }) }
  }

  /** The quality stays as it is while the node cannot encode the small video. */
  #affordable(stream: Stream, state: QualityState, sample: QualitySample): QualityState {
    const next = nextQualityState(state, sample)
    if (next.quality === state.quality || next.quality === 'full') return next
    const failedAt = this.#failures.get(stream) ?? -Infinity
    if (sample.now - failedAt < AFTER_FAILURE_MS) return state
    return this.media.transcoder?.hasCapacity({ stream, quality: 'small' }) ? next : state
  }

  /** A new subscriber whose limit is too low gets the small video at once. */
  #state(stream: Stream, peer: Peer): QualityState {
    const known = this.#states.get(stream)?.get(peer)
    if (known) return known
    const video = videoOf(stream)
    const cameraKbps = (video && this.#bitrates.get(video)?.kbps) ?? 0
    const { maxRecvKbps: limitKbps } = peer.limits
    const now = this.clock()
    const state = this.#affordable(stream, newQualityState(now), { now, cameraKbps, limitKbps, lossRate: 0 })
    this.#keep(stream, peer, state)
    return state
  }

  #keep(stream: Stream, peer: Peer, state: QualityState): void {
    const states = this.#states.get(stream) ?? new WeakMap<Peer, QualityState>()
    this.#states.set(stream, states.set(peer, state))
  }
}

const videoOf = (stream: Stream): PublishedTrack | undefined =>
  stream.forwardedTracks.find(({ kind }) => kind === 'video')
