import type { Layers, NodeCommandCall, SubscribedTrack } from '@session-service/contract'
import type { types } from 'mediasoup'
import { allowedLayers, fittingLayer } from '../tracks/bandwidth.js'
import { mediaError } from '../workers/media-errors.js'
import type { Peer } from './peer.js'
import type { HeldTransport } from './peer-transports.js'
import { changeTrack, drop, isOpen, isUndecodable, type Received, receive } from './received-track.js'
import type { MediaTransport } from '../tracks/media-transport.js'
import { receivable } from '../tracks/rtp.js'
import type { Release } from '../tracks/release.js'
import type { Stream } from './stream.js'

type Change = Omit<NodeCommandCall<'changeSubscription'>, 'roomId' | 'connectionId' | 'streamId'>

type SubscribeCall = Pick<NodeCommandCall<'subscribe'>, 'rtpCapabilities' | 'paused'>

/** A participant's subscription to a stream: a consumer for each track that the participant can decode. */
export class Subscription {
  readonly consumers: readonly types.Consumer[]
  #closed = false
  /** Whether its maximum counts for the stream: only while it receives video. */
  #isCounted = false
  /** The layers that the participant has selected. */
  #preferred: Layers | undefined
  /** The layers that were reported last; undefined before the first report. */
  #layers: Layers | null | undefined
  /** The subscription to former tracks that it replaces: its media flows until the first change of this one. */
  #former: Subscription | undefined

  readonly #release: Release

  private constructor(
    readonly stream: Stream,
    readonly peer: Peer,
    private readonly egress: HeldTransport,
    private readonly received: readonly Received[],
    private layerCeiling: number | undefined,
    private readonly mediaRevision: number,
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

  /**
   * Omits tracks that the participant cannot decode and that are not transcoded. It owns the transport once it is open.
   * @throws ServiceError INVALID when it can decode none
   */
  static async open(peer: Peer, stream: Stream, call: SubscribeCall, egress: HeldTransport): Promise<Subscription> {
    const { mediaRevision } = stream
    const ceiling = fittingLayer(stream.layerKbps, peer.limits.maxRecvKbps)
    const rtpCapabilities = receivable(call.rtpCapabilities)
    const paused = call.paused ?? false
    const tracks = stream.forwardedTracks
    const subscriber = { peer, transport: egress.media, rtpCapabilities, ceiling, paused }
    const created = await Promise.allSettled(tracks.map((track) => receive(subscriber, stream, track)))
    const received = created.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    const failed = created.flatMap((result) =>
      result.status === 'rejected' ? [mediaError(stream.id, result.reason)] : [],
    )
    const undecodable = failed.every(isUndecodable)
    if (undecodable && received.length > 0)
      return new Subscription(stream, peer, egress, received, ceiling, mediaRevision)
    for (const one of received) drop(one)
    // The tracks may have been replaced meanwhile, and the former ones have ended.
    if (stream.mediaRevision !== mediaRevision && !stream.closed) return Subscription.open(peer, stream, call, egress)
    throw failed.find((error) => !isUndecodable(error)) ?? failed[0]
  }

  /** The transport of its tracks. */
  get transport(): MediaTransport {
    return this.egress.media
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
        this.received
          .filter(isOpen)
          .map((one) => changeTrack(one, wanted[one.consumer.kind], () => this.#prefer(one, preferredLayers))),
      )
    } catch (error) {
      throw mediaError(`the subscription to ${this.stream.id} was not changed`, error)
    } finally {
      this.#count()
      this.endReplaced()
    }
  }

  /** The participant receives this subscription: ends the one that it replaces. */
  endReplaced(): void {
    this.#former?.close()
    this.#former = undefined
  }

  /** Whether other tracks are forwarded than those of this subscription: the client has to subscribe again. */
  get isReplaced(): boolean {
    const { peer, stream, mediaRevision } = this
    if (this.#closed || peer.subscriptions.get(stream.id) !== this) return false
    return mediaRevision !== stream.mediaRevision || !this.hasDueQuality
  }

  /** The consumer of its video; undefined when it has none, or that has ended. */
  get video(): types.Consumer | undefined {
    return this.#openConsumers.find(({ kind }) => kind === 'video')
  }

  /** Whether its video has the quality that is due for the participant. */
  get hasDueQuality(): boolean {
    const video = this.received.find(({ consumer }) => consumer.kind === 'video')
    return !video || video.quality === this.peer.room.qualityOf(this.stream, this.peer)
  }

  /** Ends the tracks that the stream does not forward any more; the others continue. */
  endFormerTracks(): void {
    const { forwardedTracks } = this.stream
    for (const one of this.received) if (!forwardedTracks.includes(one.source)) drop(one)
    this.#count()
  }

  /** Continues a subscription to former tracks, which the client plays until it has resumed the new ones. */
  replace(former: Subscription): void {
    for (const consumer of former.consumers) consumer.removeAllListeners('layerschange')
    former.#former?.close()
    const isWaiting = former.transport !== this.transport && !this.transport.connected
    const isNeeded = former.#isFlowing && (isWaiting || this.consumers.some(({ paused }) => paused))
    if (isNeeded) this.#former = former
    else former.close()
    if (former.#layers !== undefined) this.#layersChanged(undefined)
  }

  /** The publisher's layers have changed: adapts the preferred layers of the consumers. */
  async fitLayers(): Promise<void> {
    const { layerKbps } = this.stream
    const ceiling = fittingLayer(layerKbps, this.peer.limits.maxRecvKbps)
    if (ceiling === this.layerCeiling || this.#closed) return
    this.layerCeiling = ceiling
    const wanted = this.#preferred ?? { spatialLayer: layerKbps.length - 1 }
    await Promise.all(this.received.filter(isOpen).map((one) => this.#prefer(one, wanted)))
  }

  /** The outgoing bitrate that its tracks need to start, kbps. */
  get neededKbps(): number {
    return this.received.reduce((sum, { catchUp }) => sum + (catchUp?.neededKbps ?? 0), 0)
  }

  /** Repeats the last report of its layers. */
  reportLayers(): void {
    if (this.#layers === undefined) return
    const { peer, stream } = this
    const { connectionId } = peer
    peer.room.report({ kind: 'layersChanged', connectionId, streamId: stream.id, layers: this.#layers })
  }

  close(): void {
    if (this.#closed) return
    // Before their tracks are released: the worker closes the consumers of a closed producer itself.
    for (const consumer of this.consumers) consumer.close()
    this.ended()
    this.#former?.close()
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
    this.egress.release()
    this.stream.subscriptions.delete(this)
    this.peer.unsubscribed(this)
  }

  /** The worker closes the consumers of tracks that have ended. */
  get #openConsumers(): readonly types.Consumer[] {
    return this.received.filter(isOpen).map(({ consumer }) => consumer)
  }

  get #isFlowing(): boolean {
    return this.#openConsumers.some(({ paused }) => !paused)
  }

  #count(): void {
    const counts = !this.#closed && this.#openConsumers.some(({ kind, paused }) => kind === 'video' && !paused)
    if (counts === this.#isCounted) return
    this.#isCounted = counts
    this.stream.videoReceiverChanged(this.peer.limits.maxRecvKbps, counts)
  }

  #prefer({ consumer, catchUp }: Received, wanted: Layers | undefined): Promise<void> | undefined {
    if (!wanted || catchUp) return
    if (consumer.type !== 'simulcast' && consumer.type !== 'svc') return
    return consumer.setPreferredLayers(allowedLayers(wanted, this.layerCeiling))
  }

  #layersChanged(layers: types.ConsumerLayers | undefined): void {
    if (this.#closed) return
    this.#layers = layers ?? null
    this.reportLayers()
  }
}
