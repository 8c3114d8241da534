import { ServiceError, type NodeCommandCall } from '@session-service/contract'
import type { types } from 'mediasoup'
import { sendLimit, simulcastLimit } from '../tracks/bandwidth.js'
import { mediaError } from '../workers/media-errors.js'
import { type Ingress, PublishedMedia } from './published-media.js'
import type { Publisher } from './publisher.js'
import type { MediaTransport } from '../tracks/media-transport.js'
import { ReceiverMaxima } from '../tracks/receiver-maxima.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { once, type Release } from '../tracks/release.js'
import type { Subscription } from './subscription.js'

type Publication = NodeCommandCall<'publish'>

/** A published stream: at most one audio and one video track. */
export class Stream {
  /**
   * How long subscriptions may have former tracks after they were replaced, ms: longer than a client may be without a
   * socket. A client that does not subscribe again must not see what a filter hides.
   */
  formerMediaMs = 30_000
  /** Its subscriptions; they end with it. */
  readonly subscriptions = new Set<Subscription>()
  /** Called when the most that its publisher sends may have changed. */
  readonly limitListeners = new Set<() => void>()
  readonly #maxima = new ReceiverMaxima()
  /** Tracks that are forwarded instead of the published ones of their kinds. */
  #replacements: ReadonlyMap<types.MediaKind, PublishedTrack> = new Map()
  #mediaRevision = 0
  /** The published media that was replaced last: receivers have it until they changed over. */
  #former: PublishedMedia | undefined
  #formerEnd: NodeJS.Timeout | undefined
  #sendLimit = 0
  #layerKbps: readonly (number | undefined)[]
  #receivers = 0
  #closed = false

  private constructor(
    readonly id: string,
    readonly publisher: Publisher,
    private published: PublishedMedia,
    readonly typeOfVideo: Publication['typeOfVideo'],
  ) {
    this.#layerKbps = published.layerKbps
  }

  /** Publishes all tracks or none. The ingress belongs to the stream from the call on. */
  static async publish(publisher: Publisher, publication: Publication, ingress: Ingress): Promise<Stream> {
    const { streamId, tracks, audioActive, videoActive, typeOfVideo } = publication
    const active = { audio: audioActive, video: videoActive }
    return new Stream(streamId, publisher, await PublishedMedia.open(publisher, tracks, active, ingress), typeOfVideo)
  }

  /** The tracks of its publisher. */
  get tracks(): readonly PublishedTrack[] {
    return this.published.tracks
  }

  /** The transport on which they arrive; undefined for cameras on the network. */
  get transport(): MediaTransport | undefined {
    return this.published.transport
  }

  track(kind: types.MediaKind): PublishedTrack | undefined {
    return this.published.track(kind)
  }

  /** The tracks that subscriptions, recordings and transcriptions receive: the published ones or their replacements. */
  get forwardedTracks(): readonly PublishedTrack[] {
    return this.tracks.map((track) => this.#replacements.get(track.kind) ?? track)
  }

  /** Increases each time the forwarded tracks are replaced. */
  get mediaRevision(): number {
    return this.#mediaRevision
  }

  /**
   * Forwards these tracks, and the published ones of the other kinds. The former tracks must stay open for a while:
   * subscriptions use them until their clients have subscribed again.
   */
  replaceMedia(replacements: ReadonlyMap<types.MediaKind, PublishedTrack>): void {
    const kinds = this.tracks
      .map(({ kind }) => kind)
      .filter((kind) => replacements.get(kind) !== this.#replacements.get(kind))
    if (this.#closed || kinds.length === 0) return
    this.#replacements = new Map(replacements)
    this.#forwardedChanged(kinds)
  }

  /**
   * Publishes other tracks of the same kinds with the same mutes. The former ones and their transport stay open for a
   * while; a filter stays in force, and its input has to be replaced.
   */
  async replacePublished(tracks: Publication['tracks'], ingress: Ingress): Promise<void> {
    const kinds = this.tracks.map(({ kind }) => kind)
    const isSame = tracks.length === kinds.length && tracks.every(({ kind }) => kinds.includes(kind))
    if (!isSame) {
      ingress.release?.()
      throw new ServiceError('INVALID', `tracks: stream ${this.id} has ${kinds.join(' and ')}`)
    }
    const active = { audio: !this.track('audio')?.paused, video: !this.track('video')?.paused }
    const published = await PublishedMedia.open(this.publisher, tracks, active, ingress)
    if (this.#closed) {
      published.close()
      throw this.publisher.room.noStream(this.id)
    }
    this.#former?.close()
    this.#former = this.published
    this.published = published
    this.#layerKbps = published.layerKbps
    this.#forwardedChanged(kinds.filter((kind) => !this.#replacements.has(kind)))
    this.#limitsChanged()
  }

  /** Reports to the clients of those subscriptions that have former tracks. */
  reportReplaced(subscriptions: Iterable<Subscription>): void {
    const replaced = [...subscriptions].filter(({ isReplaced }) => isReplaced)
    const to = replaced.map(({ peer }) => peer.connectionId)
    const { room, connectionId } = this.publisher
    if (to.length > 0) room.report({ kind: 'subscriptionReplaced', to, connectionId, streamId: this.id })
  }

  /** The maximum bitrate of each layer, the smallest layer first: undefined = unknown, 0 = the layer is not sent. */
  get layerKbps(): readonly (number | undefined)[] {
    return this.#layerKbps
  }

  /** The publisher's picture has changed: subscriptions get the layers that fit their limits. */
  async setLayers(layerKbps: readonly number[]): Promise<void> {
    const { length } = this.#layerKbps
    if (layerKbps.length !== length) {
      throw new ServiceError('INVALID', `layerKbps: stream ${this.id} has ${length} layers, not ${layerKbps.length}`)
    }
    this.#layerKbps = layerKbps
    this.#limitsChanged()
    // A subscription fails here only when it has ended, or its worker has.
    await Promise.allSettled([...this.subscriptions].map((subscription) => subscription.fitLayers()))
  }

  /** The receivers' limit for its publisher, kbps; 0 = none below the publisher's own limit. */
  get sendLimit(): number {
    return this.#sendLimit
  }

  /** The maximum bitrate of its video, kbps. Simulcast ignores the receivers' limit: each receiver gets a fitting layer. */
  get videoMaxKbps(): number {
    const { maxSendKbps } = this.publisher
    return this.#isSimulcast ? simulcastLimit(maxSendKbps) : this.#sendLimit || maxSendKbps
  }

  /** The most that its publisher sends of the video, kbps; 0 = unknown. Cameras obey no limit. */
  get publishedKbps(): number {
    const { adaptativeBitrate } = this.publisher
    if (adaptativeBitrate !== undefined) return 0
    // The maximum of a single layer follows the picture without a report.
    const largest = this.#layerKbps.length > 1 ? Math.max(0, ...this.#layerKbps.map((kbps) => kbps ?? Infinity)) : 0
    const known = [largest, this.videoMaxKbps].filter((kbps) => kbps > 0 && kbps < Infinity)
    return known.length > 0 ? Math.min(...known) : 0
  }

  /** A receiver with this maximum has started or stopped to receive its video. */
  videoReceiverChanged(maxKbps: number, isReceiving: boolean): void {
    if (isReceiving) this.#maxima.add(maxKbps)
    else this.#maxima.remove(maxKbps)
    const limit = sendLimit(this.publisher.maxSendKbps, this.#maxima.lowest)
    if (limit === this.#sendLimit || this.#closed) return
    this.#sendLimit = limit
    this.publisher.sendLimitChanged(this)
    this.#limitsChanged()
  }

  /** The number of subscriptions, recordings and transcriptions that receive it. */
  get receivers(): number {
    return this.#receivers
  }

  /** Counts a receiver until the returned function is called. */
  addReceiver(): Release {
    this.#receivers++
    this.publisher.receiversChanged(this)
    return once(() => {
      this.#receivers--
      this.publisher.receiversChanged(this)
    })
  }

  /** Pauses or resumes its tracks at the publisher; absent kinds stay unchanged. */
  async change(active: Partial<Record<types.MediaKind, boolean | undefined>>): Promise<void> {
    try {
      await Promise.all(
        this.#ownTracks.map((track) => {
          const wanted = active[track.kind]
          return wanted === undefined ? undefined : track.setPaused(!wanted)
        }),
      )
    } catch (error) {
      throw mediaError(`stream ${this.id} was not changed`, error)
    }
    this.publisher.room.changed(this)
  }

  get closed(): boolean {
    return this.#closed
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#formerEnd)
    for (const track of this.#replacements.values()) track.close()
    this.published.close()
    this.#former?.close()
    for (const subscription of this.subscriptions) subscription.ended()
  }

  #limitsChanged(): void {
    for (const listener of this.limitListeners) listener()
  }

  /** Those that follow the mutes of the publisher. */
  get #ownTracks(): readonly PublishedTrack[] {
    return [...this.tracks, ...(this.#former?.tracks ?? []), ...this.#replacements.values()]
  }

  /** Other tracks of these kinds are forwarded. */
  #forwardedChanged(kinds: readonly types.MediaKind[]): void {
    clearTimeout(this.#formerEnd)
    this.#formerEnd = setTimeout(() => this.#endFormerMedia(), this.formerMediaMs)
    if (kinds.length === 0) return
    this.#mediaRevision++
    this.reportReplaced(this.subscriptions)
    this.publisher.room.mediaReplaced(this, kinds)
  }

  #endFormerMedia(): void {
    for (const subscription of this.subscriptions) subscription.endFormerTracks()
    this.#former?.close()
    this.#former = undefined
  }

  get #isSimulcast(): boolean {
    return this.#layerKbps.filter((kbps) => kbps !== 0).length > 1
  }
}
