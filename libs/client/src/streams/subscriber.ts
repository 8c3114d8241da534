import {
  type Layers,
  type MediaKind,
  ServiceError,
  type SignallingParams,
  type SignallingResult,
  type StreamDestroyedReason,
  type SubscribedTrack,
} from '@session-service/contract'
import type { types } from 'mediasoup-client'
import type { SessionContext } from './context.js'
import type { SubscriberEvents } from './events.js'
import type { Engine } from '../media/engine.js'
import { isSameValue } from '../platform/same-value.js'
import { isPermanent, retryDelay } from '../signalling/retry.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import { StreamManager } from './stream-manager.js'
import type { Stream } from './stream.js'

/** Then the former tracks stay, until the server reports a replacement again. */
const MOST_FAILURES = 8

export interface SubscribeOptions {
  /** False: starts without audio. Default true. */
  subscribeToAudio?: boolean
  /** False: starts without video. Default true. */
  subscribeToVideo?: boolean
}

/** The subscription to another participant's stream. `session.subscribe` creates it. */
export class Subscriber extends StreamManager<SubscriberEvents> {
  readonly stream: Stream
  readonly #context: SessionContext
  readonly #consumers = new Map<MediaKind, types.Consumer>()
  /** Consumers of a lost node: the last video frame stays visible until a new one arrives. */
  #retiredConsumers: types.Consumer[] = []
  readonly #wanted: Record<MediaKind, boolean>
  /** The last choices that the server accepted, and the calls that wait for its answer. */
  readonly #accepted: Record<MediaKind, boolean>
  readonly #pending: Record<MediaKind, number> = { audio: 0, video: 0 }
  #layers: Layers | null = null
  /** The layers that the application prefers; kept after a loss. */
  #preferredLayers: Layers | undefined
  #acceptedLayers: Layers | undefined
  #ended = false
  #established: Promise<void> | undefined
  /** The engine of the last successful subscription. */
  #engine: Engine | undefined
  #isSubscribing = false
  /** The server forwards other tracks than those of the last subscription. */
  #isReplaced = false
  /** Failed attempts to replace the tracks, in a row. */
  #failures = 0
  #cancelRetry = (): void => {}
  #restored: Promise<void> = Promise.resolve()

  /** @internal */
  constructor(context: SessionContext, stream: Stream, options: SubscribeOptions) {
    super(
      { clock: context.clock, silent: false, mirror: false, expected: () => this.#expectedMedia() },
      (name, message) => context.exception(name, message, this),
    )
    this.#context = context
    this.stream = stream
    this.once('streamPlaying', context.experience.subscribing())
    this.#wanted = { audio: options.subscribeToAudio ?? true, video: options.subscribeToVideo ?? true }
    this.#accepted = { ...this.#wanted }
  }

  /** The simulcast layers that arrive; null while no video arrives, and for a stream without simulcast. */
  get layers(): Layers | null {
    return this.#layers
  }

  /** False from the loss of the media until its restoration, independent of muting. */
  get receiving(): boolean {
    return this.#consumers.size > 0
  }

  /** Requests the server to send audio to this participant, or to stop sending it. */
  subscribeToAudio(wanted: boolean): Promise<void> {
    return this.#setWanted('audio', wanted)
  }

  /** Requests the server to send video to this participant, or to stop sending it. */
  subscribeToVideo(wanted: boolean): Promise<void> {
    return this.#setWanted('video', wanted)
  }

  /** Sets the best simulcast layers that the server sends to this participant; 0 is the smallest. */
  async setPreferredLayers(preferredLayers: Layers): Promise<void> {
    this.#preferredLayers = preferredLayers
    try {
      await this.#change({ preferredLayers })
      this.#acceptedLayers = preferredLayers
    } catch (error) {
      if (this.#preferredLayers === preferredLayers) this.#preferredLayers = this.#acceptedLayers
      throw error
    }
  }

  /** WebRTC statistics of the received tracks. */
  async getStats(): Promise<Partial<Record<MediaKind, RTCStatsReport>>> {
    const entries = [...this.#consumers].map(async ([kind, consumer]) => [kind, await consumer.getStats()] as const)
    return Object.fromEntries(await Promise.all(entries))
  }

  /** @internal Subscribes once and resolves when all tracks exist. Repeated calls return the same promise. */
  established(): Promise<void> {
    return (this.#established ??= this.#establish())
  }

  /** @internal The media was lost with the media node; the subscription is restored with the stream, in the same elements. */
  mediaLost(): void {
    this.#retiredConsumers.push(...this.#consumers.values())
    this.#consumers.clear()
    this.layersChanged(null)
    if (!this.#engine || this.#isSubscribing || this.#ended) return
    this.#begin(
      this.#context.media
        .restore(async (engine) => void (this.#ended || (await this.#subscribe(engine))))
        .catch(() => this.#giveUp()),
    )
  }

  /** @internal The server forwards other tracks of the stream: subscribes again, and shows them in the same elements. */
  replaced(): void {
    if (this.#ended) return
    this.#isReplaced = true
    this.#cancelRetry()
    if (this.#engine && !this.#isSubscribing) this.#begin(this.#replace())
  }

  /** @internal Settles when the lost media is restored, or the subscription has ended. */
  get restored(): Promise<void> {
    return this.#restored
  }

  async #establish(): Promise<void> {
    const { media } = this.#context
    this.#isSubscribing = true
    try {
      await media.run((engine) => this.#subscribe(engine))
    } finally {
      this.#isSubscribing = false
    }
    void this.#continue()
  }

  #begin(task: Promise<void>): void {
    this.#isSubscribing = true
    this.#restored = task.finally(() => (this.#isSubscribing = false)).then(() => this.#continue())
  }

  /** The media may have been lost or replaced while the last task ran. */
  #continue(): Promise<void> | undefined {
    if (this.#ended) return undefined
    if (!this.#context.media.isCurrent(this.#engine)) this.mediaLost()
    else if (this.#isReplaced) this.replaced()
    else return undefined
    return this.#restored
  }

  /** Never rejects: when it fails, the former tracks are played as long as they flow. */
  async #replace(): Promise<void> {
    const { media, clock } = this.#context
    try {
      await media.run((engine) => this.#subscribe(engine))
      this.#failures = 0
    } catch (error) {
      if (this.#ended || (error instanceof ServiceError && isPermanent(error.code))) return
      if (++this.#failures > MOST_FAILURES) return
      this.#cancelRetry = clock.after(retryDelay(this.#failures, clock.random()), () => this.replaced())
    }
  }

  /** Creates the consumers of all tracks, then requests the server to resume the wanted ones. */
  async #subscribe(engine: Engine): Promise<void> {
    const isReplacement = engine === this.#engine
    this.#isReplaced = false
    await this.#context.pendingStreams.available(this.stream.streamId)
    this.#requireActive(engine)
    const { tracks } = await this.#request(engine, isReplacement)
    this.#requireActive(engine)
    const consumers = await engine.consume(tracks, this.stream.streamId)
    try {
      // The former tracks are played until the server sends the new ones.
      if (isReplacement) await this.#applyWanted(tracks)
      this.#requireActive(engine)
    } catch (error) {
      for (const consumer of consumers) consumer.close()
      throw error
    }
    this.#useConsumers(consumers)
    this.#engine = engine
    if (!isReplacement) await this.#applyWanted(tracks)
  }

  /** @internal */
  layersChanged(layers: Layers | null): void {
    // The server repeats its last report after a new socket.
    if (this.#ended || isSameValue(this.#layers, layers)) return
    this.#layers = layers
    this.emit('layersChanged', { layers })
  }

  /** @internal Ends the subscription; with a reason it emits `streamDestroyed`. */
  destroyed(reason?: StreamDestroyedReason): void {
    if (this.#ended) return
    this.#ended = true
    this.#cancelRetry()
    for (const consumer of [...this.#consumers.values(), ...this.#retiredConsumers]) consumer.close()
    this.closePlayer()
    if (reason) this.emitDestroyed({ stream: this.stream, reason })
  }

  /** Replaces the server's subscription when an earlier answer was lost with its socket. */
  async #request(engine: Engine, replace: boolean): Promise<SignallingResult<'subscribe'>> {
    const { streamId } = this.stream
    const { isDistant, clock } = this.#context
    const { rtpCapabilities } = engine
    const call = { streamId, rtpCapabilities, ...(replace && { replace }), ...(isDistant && { paused: true }) }
    // After the request is sent, because creating the peer connection takes as long as an answer.
    if (isDistant) clock.after(0, () => engine.openRecv())
    try {
      return await this.#context.call('subscribe', call)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') throw error
      await this.#context.call('unsubscribe', { streamId }).catch(ignoreNotFound)
      return this.#context.call('subscribe', call)
    }
  }

  #requireActive(engine: Engine): void {
    const { streamId } = this.stream
    if (this.#ended) throw new ServiceError('NOT_FOUND', `subscribe: stream ${streamId} has ended`)
    if (!this.#context.media.isCurrent(engine))
      throw new ServiceError('UNAVAILABLE', `subscribe: the media of stream ${streamId} was lost`)
  }

  #useConsumers(consumers: readonly types.Consumer[]): void {
    // A retry may follow a subscription whose consumers exist already.
    const former = [...this.#retiredConsumers.splice(0), ...this.#consumers.values()]
    this.#consumers.clear()
    for (const consumer of consumers) {
      this.#consumers.set(consumer.kind, consumer)
      consumer.track.enabled = this.#wanted[consumer.kind]
    }
    this.replaceTracks(consumers.map(({ track }) => track))
    for (const consumer of former) consumer.close()
  }

  /** The stream may still exist, but restoring the subscription failed. */
  #giveUp(): void {
    const { subscribers } = this.#context
    if (subscribers.get(this.stream.streamId) === this) subscribers.delete(this.stream.streamId)
    this.destroyed('nodeCrashed')
  }

  /** Resumes wanted tracks that arrived paused, and pauses unwanted tracks that did not. */
  async #applyWanted(tracks: readonly SubscribedTrack[]): Promise<void> {
    const wanted = { ...this.#wanted }
    const kindsToChange = tracks.filter(({ kind, paused }) => paused === wanted[kind]).map(({ kind }) => kind)
    const preferredLayers = this.#preferredLayers
    if (kindsToChange.length > 0 || preferredLayers) {
      const changes = Object.fromEntries(kindsToChange.map((kind) => [kind, wanted[kind]]))
      const call = { streamId: this.stream.streamId, ...changes, ...(preferredLayers && { preferredLayers }) }
      await this.#context.call('changeSubscription', call)
    }
    Object.assign(this.#accepted, wanted)
  }

  async #change(change: Omit<SignallingParams<'changeSubscription'>, 'streamId'>): Promise<void> {
    await this.#context.media.run(async () => {
      await this.#restored
      if (!this.#ended) await this.#context.call('changeSubscription', { streamId: this.stream.streamId, ...change })
    })
  }

  async #setWanted(kind: MediaKind, wanted: boolean): Promise<void> {
    if (this.#ended || this.#wanted[kind] === wanted) return
    this.#want(kind, wanted)
    this.#pending[kind]++
    try {
      await this.#change({ [kind]: wanted })
      this.#accepted[kind] = wanted
    } finally {
      // A later call still waits for its own answer.
      if (--this.#pending[kind] === 0) this.#want(kind, this.#accepted[kind])
    }
  }

  #want(kind: MediaKind, wanted: boolean): void {
    this.#wanted[kind] = wanted
    const track = this.#consumers.get(kind)?.track
    if (track) track.enabled = wanted
  }

  #expectedMedia(): 'video' | 'audio' | 'nothing' {
    if (this.stream.videoActive && this.#wanted.video) return 'video'
    return this.stream.audioActive && this.#wanted.audio ? 'audio' : 'nothing'
  }
}
