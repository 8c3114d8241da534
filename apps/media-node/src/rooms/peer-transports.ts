import { ServiceError, type BandwidthLimits, type TransportDirection } from '@session-service/contract'
import type { RoomRouter } from '../routers/room-router.js'
import { incomingMaximum, outgoingBitrates, type Published } from '../tracks/bandwidth.js'
import { MediaTransport } from '../tracks/media-transport.js'
import { once, type Release } from '../tracks/release.js'
import type { Stream } from './stream.js'
import type { Subscription } from './subscription.js'

/** A transport while a stream or a subscription uses it. */
export interface HeldTransport {
  readonly media: MediaTransport
  readonly release: Release
}

/** The transports of a participant: two for all its streams and subscriptions, or one for each. */
export interface PeerTransports {
  /** Undefined when each stream and each subscription has its own transport. */
  readonly shared: Readonly<Record<TransportDirection, MediaTransport>> | undefined
  /** The transport for another stream or subscription. */
  hold(direction: TransportDirection): Promise<HeldTransport>
  /** Limits what the participant sends. */
  limitIncoming(streams: readonly Stream[]): Promise<void>
  /** Limits what is sent to the participant. */
  limitOutgoing(subscriptions: readonly Subscription[]): Promise<void>
  close(): void
}

export interface TransportsOptions {
  roomRouter: RoomRouter
  limits: BandwidthLimits
  /** Called when transports were opened or closed. */
  onCount: (by: number) => void
}

export class SharedTransports implements PeerTransports {
  readonly #close = once(() => {
    this.shared.send.close()
    this.shared.recv.close()
    this.options.onCount(-2)
  })

  private constructor(
    private readonly options: TransportsOptions,
    readonly shared: Readonly<Record<TransportDirection, MediaTransport>>,
  ) {
    options.onCount(2)
  }

  static async open(options: TransportsOptions): Promise<SharedTransports> {
    const opened = await Promise.allSettled([
      MediaTransport.open(options.roomRouter, 'send'),
      MediaTransport.open(options.roomRouter, 'recv'),
    ])
    const [send, recv] = opened
    if (send.status === 'fulfilled' && recv.status === 'fulfilled') {
      return new SharedTransports(options, { send: send.value, recv: recv.value })
    }
    for (const result of opened) if (result.status === 'fulfilled') result.value.close()
    throw send.status === 'rejected' ? send.reason : (recv as PromiseRejectedResult).reason
  }

  async hold(direction: TransportDirection): Promise<HeldTransport> {
    return { media: this.shared[direction], release: () => undefined }
  }

  limitIncoming(streams: readonly Stream[]): Promise<void> {
    return this.shared.send.limitIncoming(incomingMaximum(this.options.limits, publishedBy(streams)))
  }

  limitOutgoing(subscriptions: readonly Subscription[]): Promise<void> {
    return this.shared.recv.limitOutgoing(outgoingFor(this.options.limits, subscriptions))
  }

  close(): void {
    this.#close()
  }
}

/** For clients that open another connection for each stream. The configured limits apply to each of them. */
export class PerStreamTransports implements PeerTransports {
  readonly shared = undefined
  readonly #releases = new Set<Release>()
  #closed = false

  constructor(private readonly options: TransportsOptions) {}

  async hold(direction: TransportDirection): Promise<HeldTransport> {
    const media = await MediaTransport.open(this.options.roomRouter, direction)
    if (this.#closed) {
      media.close()
      throw new ServiceError('NOT_FOUND', 'the connection has left', { subject: 'connection' })
    }
    this.options.onCount(1)
    const release = once(() => {
      this.#releases.delete(release)
      media.close()
      this.options.onCount(-1)
    })
    this.#releases.add(release)
    return { media, release }
  }

  async limitIncoming(streams: readonly Stream[]): Promise<void> {
    await Promise.all(
      streams.map((stream) =>
        stream.transport?.limitIncoming(incomingMaximum(this.options.limits, publishedBy([stream]))),
      ),
    )
  }

  async limitOutgoing(subscriptions: readonly Subscription[]): Promise<void> {
    await Promise.all(
      subscriptions.map((each) => each.transport.limitOutgoing(outgoingFor(this.options.limits, [each]))),
    )
  }

  close(): void {
    this.#closed = true
    for (const release of this.#releases) release()
  }
}

const publishedBy = (streams: readonly Stream[]): Published => ({
  audio: streams.filter((stream) => stream.track('audio')).length,
  videoMaxKbps: streams.filter((stream) => stream.track('video')).map(({ videoMaxKbps }) => videoMaxKbps),
})

const sum = (numbers: readonly number[]): number => numbers.reduce((total, each) => total + each, 0)

const outgoingFor = (limits: BandwidthLimits, subscriptions: readonly Subscription[]) =>
  outgoingBitrates(
    limits,
    {
      audio: sum(subscriptions.map((each) => each.count('audio'))),
      video: sum(subscriptions.map((each) => each.count('video'))),
    },
    sum(subscriptions.map(({ neededKbps }) => neededKbps)),
  )
