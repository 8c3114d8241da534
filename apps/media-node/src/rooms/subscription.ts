import type { Layers, NodeCommandCall, RtpCapabilities, SubscribedTrack } from '@session-service/contract'
import type { types } from 'mediasoup'
import { allowedLayers, fittingLayer } from '../tracks/bandwidth.js'
import { mediaError } from '../workers/media-errors.js'
import type { Peer } from './peer.js'
import type { CatchUpReceiver } from '../tracks/catch-up.js'
import { receivable } from '../tracks/rtp.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import type { Release } from '../tracks/release.js'
import type { Stream } from './stream.js'

type Change = Omit<NodeCommandCall<'changeSubscription'>, 'roomId' | 'connectionId' | 'streamId'>

/** A participant's subscription to a stream: a consumer for each track that the participant can decode. */
export class Subscription {
  readonly consumers: readonly types.Consumer[]
  #closed = false
  /** Whether its maximum counts for the stream: only while it receives video. */
  #isCounted = false
  /** The layers that the participant has selected. */
  #preferred: Layers | undefined

  readonly #release: Release

  private constructor(
    readonly stream: Stream,
    readonly peer: Peer,
    private readonly received: readonly Received[],
    private layerCeiling: number | undefined,
  ) {
    this.consumers = received.map(({ consumer }) => consumer)
    this.#release = stream.addReceiver()
    for (const { consumer, catchUp } of received) {
      if (!catchUp && (consumer.type === 'simulcast' || consumer.type === 'svc')) {
        consumer.on('layerschange', (layers) => this.#layersChanged(layers))
      }
    }
    this.#count()
  }

  /** Omits tracks that the participant can not decode. @throws ServiceError INVALID when it can decode none */
  static async open(peer: Peer, stream: Stream, rtpCapabilities: RtpCapabilities): Promise<Subscription> {
    const ceiling = fittingLayer(stream.layerKbps, peer.limits.maxRecvKbps)
    const capabilities = receivable(rtpCapabilities)
    const created = await Promise.allSettled(stream.tracks.map((track) => receive(peer, track, capabilities, ceiling)))
    const received = created.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failed = created.flatMap((result) =>
      result.status === 'rejected' ? [mediaError(stream.id, result.reason)] : [],
    )
    const undecodable = failed.every(({ code }) => code === 'INVALID')
    if (undecodable && received.length > 0) return new Subscription(stream, peer, received, ceiling)
    for (const one of received) drop(one)
    throw failed.find(({ code }) => code !== 'INVALID') ?? failed[0]
  }

  get tracks(): SubscribedTrack[] {
    return this.consumers.map(({ id, producerId, kind, rtpParameters, paused }) => ({
      id,
      producerId,
      kind,
      rtpParameters: rtpParameters as SubscribedTrack['rtpParameters'],
      paused,
    }))
  }

  count(kind: types.MediaKind): number {
    return this.consumers.filter((consumer) => consumer.kind === kind).length
  }

  /** Absent members stay unchanged. Resuming requests a key frame. */
  async change({ audio, video, preferredLayers }: Change): Promise<void> {
    const wanted = { audio, video }
    if (preferredLayers) this.#preferred = preferredLayers
    try {
      await Promise.all(
        this.received.flatMap(({ consumer, catchUp }) => [
          preferredLayers && consumer.kind === 'video' && !catchUp && this.#prefer(consumer, preferredLayers),
          wanted[consumer.kind] === true && consumer.resume(),
          wanted[consumer.kind] === false && consumer.pause(),
        ]),
      )
    } catch (error) {
      throw mediaError(`the subscription to ${this.stream.id} was not changed`, error)
    } finally {
      this.#count()
    }
  }

  /** The publisher's layers have changed: adapts the preferred layers of the consumers. */
  async fitLayers(): Promise<void> {
    const { layerKbps } = this.stream
    const ceiling = fittingLayer(layerKbps, this.peer.limits.maxRecvKbps)
    if (ceiling === this.layerCeiling || this.#closed) return
    this.layerCeiling = ceiling
    const wanted = this.#preferred ?? { spatialLayer: layerKbps.length - 1 }
    await Promise.all(this.received.map(({ consumer, catchUp }) => !catchUp && this.#prefer(consumer, wanted)))
  }

  /** The outgoing bitrate that its tracks need to start, kbps. */
  get neededKbps(): number {
    return this.received.reduce((sum, { catchUp }) => sum + (catchUp?.neededKbps ?? 0), 0)
  }

  close(): void {
    if (this.#closed) return
    // Before their tracks are released: the worker closes the consumers of a closed producer itself.
    for (const consumer of this.consumers) consumer.close()
    this.ended()
  }

  /** The stream has ended: the worker closes the consumers of a closed producer itself. */
  ended(): void {
    if (this.#closed) return
    this.#closed = true
    this.#count()
    for (const { consumer, release, catchUp } of this.received) {
      consumer.removeAllListeners('layerschange')
      catchUp?.close()
      release()
    }
    this.#release()
    this.stream.subscriptions.delete(this)
    this.peer.unsubscribed(this)
  }

  #count(): void {
    const counts = !this.#closed && this.consumers.some(({ kind, paused }) => kind === 'video' && !paused)
    if (counts === this.#isCounted) return
    this.#isCounted = counts
    this.stream.videoReceiverChanged(this.peer.limits.maxRecvKbps, counts)
  }

  #prefer(consumer: types.Consumer, wanted: Layers): Promise<void> | undefined {
    if (consumer.type !== 'simulcast' && consumer.type !== 'svc') return
    return consumer.setPreferredLayers(allowedLayers(wanted, this.layerCeiling))
  }

  #layersChanged(layers: types.ConsumerLayers | undefined): void {
    if (this.#closed) return
    this.peer.room.report({
      kind: 'layersChanged',
      connectionId: this.peer.connectionId,
      streamId: this.stream.id,
      layers: layers ?? null,
    })
  }
}

/** A consumer, and the function that releases its track on the peer's router. */
interface Received {
  consumer: types.Consumer
  release: Release
  catchUp: CatchUpReceiver | undefined
}

function drop({ consumer, release, catchUp }: Received): void {
  consumer.close()
  catchUp?.close()
  release()
}

async function receive(
  peer: Peer,
  track: PublishedTrack,
  rtpCapabilities: types.RtpCapabilities,
  ceiling: number | undefined,
): Promise<Received> {
  const release = await track.acquire(peer.roomRouter)
  try {
    const consumer = await consume(peer, track, rtpCapabilities, ceiling)
    const isPiped = peer.roomRouter.router !== track.router
    const catchUp = isPiped
      ? undefined
      : track.catchUp?.receive(consumer, peer.recv.transport, () => peer.neededBitrateChanged())
    return { consumer, release, catchUp }
  } catch (error) {
    release()
    throw error
  }
}

/**
 * Created paused only on a connected transport: there packets would arrive before the participant's library knows the
 * track. On an unconnected transport no packet can arrive too early.
 */
async function consume(
  peer: Peer,
  { producer, catchUp }: PublishedTrack,
  rtpCapabilities: types.RtpCapabilities,
  ceiling: number | undefined,
): Promise<types.Consumer> {
  const spatialLayer = catchUp?.liveLayer ?? ceiling
  try {
    return await peer.recv.transport.consume({
      producerId: producer.id,
      rtpCapabilities,
      paused: peer.recv.connected,
      ...(spatialLayer !== undefined && producer.type === 'simulcast' && { preferredLayers: { spatialLayer } }),
    })
  } catch (error) {
    throw mediaError(`cannot consume the ${producer.kind} track with these rtpCapabilities`, error, 'INVALID')
  }
}
