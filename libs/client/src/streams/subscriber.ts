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
import { ignoreNotFound } from '../signalling/service-error.js'
import { StreamManager } from './stream-manager.js'
import type { Stream } from './stream.js'

export interface SubscribeOptions {
  /** False: begins without it. Default true. */
  subscribeToAudio?: boolean
  subscribeToVideo?: boolean
}

/** Another participant's stream as it is received here. Made by `session.subscribe`. */
export class Subscriber extends StreamManager<SubscriberEvents> {
  readonly stream: Stream
  readonly #context: SessionContext
  readonly #consumers = new Map<MediaKind, types.Consumer>()
  /** Of a lost node: the last picture stays until there is another. */
  #retiredConsumers: types.Consumer[] = []
  readonly #wanted: Record<MediaKind, boolean>
  #layers: Layers | null = null
  /** What the application has chosen of the layers; holds over a loss. */
  #preferred: Layers | undefined
  #ended = false
  #established: Promise<void> | undefined
  /** Where it was made last. */
  #engine: Engine | undefined
  #isSubscribing = false
  #restored: Promise<void> = Promise.resolve()

  /** @internal */
  constructor(context: SessionContext, stream: Stream, options: SubscribeOptions) {
    super({ clock: context.clock, silent: false, mirror: false, expected: () => this.#expected() }, (name, message) =>
      context.exception(name, message, this),
    )
    this.#context = context
    this.stream = stream
    this.#wanted = { audio: options.subscribeToAudio ?? true, video: options.subscribeToVideo ?? true }
  }

  /** The simulcast layers that come now; null while none come or the stream is no simulcast. */
  get layers(): Layers | null {
    return this.#layers
  }

  /** False from the loss of the media until it is back, whether or not anything of it is muted. */
  get receiving(): boolean {
    return this.#consumers.size > 0
  }

  /** Asks the server to send the sound, or to stop sending it to this participant. */
  subscribeToAudio(wanted: boolean): Promise<void> {
    return this.#setWanted('audio', wanted)
  }

  subscribeToVideo(wanted: boolean): Promise<void> {
    return this.#setWanted('video', wanted)
  }

  /** The best simulcast layers this participant has a use for, 0 the smallest; the server sends those or less. */
  async setPreferredLayers(preferredLayers: Layers): Promise<void> {
    const before = this.#preferred
    this.#preferred = preferredLayers
    try {
      await this.#change({ preferredLayers })
    } catch (error) {
      if (this.#preferred === preferredLayers) this.#preferred = before
      throw error
    }
  }

  /** WebRTC statistics of what is received. */
  async getStats(): Promise<Partial<Record<MediaKind, RTCStatsReport>>> {
    const entries = [...this.#consumers].map(async ([kind, consumer]) => [kind, await consumer.getStats()] as const)
    return Object.fromEntries(await Promise.all(entries))
  }

  /** @internal Resolves when all tracks are there; however often it is called, it is done once. */
  established(): Promise<void> {
    return (this.#established ??= this.#establish())
  }

  /** @internal Its media is gone with the media node; it comes back with the stream, in the same elements. */
  mediaLost(): void {
    this.#retiredConsumers.push(...this.#consumers.values())
    this.#consumers.clear()
    if (!this.#engine || this.#isSubscribing || this.#ended) return
    this.#isSubscribing = true
    this.#restored = this.#context.media
      .restore(async (engine) => void (this.#ended || (await this.#subscribe(engine))))
      .catch(() => this.#giveUp())
      .finally(() => (this.#isSubscribing = false))
  }

  /** @internal Settles when what was lost is back, or is given up. */
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
    if (!media.isCurrent(this.#engine)) this.mediaLost()
  }

  /** Makes the local ends of all tracks, then lets those flow that the server holds back. */
  async #subscribe(engine: Engine): Promise<void> {
    await this.#context.pendingStreams.available(this.stream.streamId)
    this.#requireActive(engine)
    const { tracks } = await this.#request(engine)
    this.#requireActive(engine)
    const consumers = await engine.consume(tracks, this.stream.streamId)
    try {
      this.#requireActive(engine)
    } catch (error) {
      for (const consumer of consumers) consumer.close()
      throw error
    }
    this.#useConsumers(consumers)
    this.#engine = engine
    await this.#applyWanted(tracks)
  }

  /** @internal */
  layersChanged(layers: Layers | null): void {
    this.#layers = layers
    this.emit('layersChanged', { layers })
  }

  /** @internal The stream is over or not wanted any more; with a reason the application is told. */
  destroyed(reason?: StreamDestroyedReason): void {
    if (this.#ended) return
    this.#ended = true
    for (const consumer of [...this.#consumers.values(), ...this.#retiredConsumers]) consumer.close()
    this.closePlayer()
    if (reason) this.emitDestroyed({ stream: this.stream, reason })
  }

  /** When an earlier answer was lost with its socket the server has the subscription already: it is made anew. */
  async #request(engine: Engine): Promise<SignallingResult<'subscribe'>> {
    const call = { streamId: this.stream.streamId, rtpCapabilities: engine.rtpCapabilities }
    try {
      return await this.#context.call('subscribe', call)
    } catch (error) {
      if (!(error instanceof ServiceError) || error.code !== 'CONFLICT') throw error
      await this.#context.call('unsubscribe', { streamId: call.streamId }).catch(ignoreNotFound)
      return this.#context.call('subscribe', call)
    }
  }

  #requireActive(engine: Engine): void {
    const { streamId } = this.stream
    if (this.#ended) throw new ServiceError('NOT_FOUND', `subscribe: stream ${streamId} has ended`)
    if (!this.#context.media.isCurrent(engine))
      throw new ServiceError('UNAVAILABLE', `subscribe: the media of stream ${streamId} was lost meanwhile`)
  }

  #useConsumers(consumers: readonly types.Consumer[]): void {
    // Made again after only its release had failed.
    const former = [...this.#retiredConsumers.splice(0), ...this.#consumers.values()]
    this.#consumers.clear()
    for (const consumer of consumers) {
      this.#consumers.set(consumer.kind, consumer)
      consumer.track.enabled = this.#wanted[consumer.kind]
    }
    this.replaceTracks(consumers.map(({ track }) => track))
    for (const consumer of former) consumer.close()
  }

  /** The stream may still be there, but cannot be had. */
  #giveUp(): void {
    const { subscribers } = this.#context
    if (subscribers.get(this.stream.streamId) === this) subscribers.delete(this.stream.streamId)
    this.destroyed('nodeCrashed')
  }

  /** Resumes what came paused and is wanted; pauses what came flowing and is not. */
  async #applyWanted(tracks: readonly SubscribedTrack[]): Promise<void> {
    const wrong = tracks.filter(({ kind, paused }) => paused === this.#wanted[kind]).map(({ kind }) => kind)
    const preferredLayers = this.#preferred
    if (wrong.length === 0 && !preferredLayers) return
    const changes = Object.fromEntries(wrong.map((kind) => [kind, this.#wanted[kind]]))
    const call = { streamId: this.stream.streamId, ...changes, ...(preferredLayers && { preferredLayers }) }
    await this.#context.call('changeSubscription', call)
  }

  async #change(change: Omit<SignallingParams<'changeSubscription'>, 'streamId'>): Promise<void> {
    await this.#context.media.run(async () => {
      await this.#restored
      if (!this.#ended) await this.#context.call('changeSubscription', { streamId: this.stream.streamId, ...change })
    })
  }

  async #setWanted(kind: MediaKind, wanted: boolean): Promise<void> {
    const before = this.#wanted[kind]
    if (this.#ended || before === wanted) return
    this.#wanted[kind] = wanted
    this.#enable(kind)
    try {
      await this.#change({ [kind]: wanted })
    } catch (error) {
      this.#wanted[kind] = before
      this.#enable(kind)
      throw error
    }
  }

  #enable(kind: MediaKind): void {
    const track = this.#consumers.get(kind)?.track
    if (track) track.enabled = this.#wanted[kind]
  }

  #expected(): 'video' | 'audio' | 'nothing' {
    if (this.stream.videoActive && this.#wanted.video) return 'video'
    return this.stream.audioActive && this.#wanted.audio ? 'audio' : 'nothing'
  }
}
