import { type MediaKind, ServiceError, type StreamDestroyedReason, type TypeOfVideo } from '@session-service/contract'
import { type Clock, systemClock } from '../platform/clock.js'
import type { SessionContext } from './context.js'
import type { PublisherEvents } from './events.js'
import { type CaptureOptions, type CapturedTrack, captureTracks } from '../media/capture.js'
import { LocalTracks } from '../media/local-tracks.js'
import { type VideoMeasure, measure, watchMeasure } from '../media/measure.js'
import { type OwnTypeOfVideo, Publication } from './publication.js'
import { dimensionsReason } from '../media/dimensions.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import { StreamManager } from './stream-manager.js'
import type { Stream } from './stream.js'

export interface PublisherOptions extends CaptureOptions {
  /** False: begins muted. Default true. */
  publishAudio?: boolean
  publishVideo?: boolean
  /** Three sizes of the picture for cameras. Default: what the server is configured for; never for a screen. */
  simulcast?: boolean
  /** Default CAMERA, SCREEN with `screen`, CUSTOM with an own video track. */
  typeOfVideo?: Exclude<TypeOfVideo, 'IPCAM'>
  /** Mirror the own picture where it is attached. Default: cameras are, others not. */
  mirror?: boolean
}

function typeOfVideo(options: PublisherOptions): OwnTypeOfVideo {
  if (options.typeOfVideo) return options.typeOfVideo
  if (options.screen) return 'SCREEN'
  return typeof options.video === 'object' ? 'CUSTOM' : 'CAMERA'
}

/** The participant's own stream. Made by `createPublisher` (to be seen before it is sent) or by `session.publish`. */
export class Publisher extends StreamManager<PublisherEvents> {
  readonly typeOfVideo: OwnTypeOfVideo
  readonly #tracks: LocalTracks
  readonly #options: PublisherOptions
  #state: 'ready' | 'publishing' | 'published' | 'ended' = 'ready'
  #context: SessionContext | undefined
  #publication: Publication | undefined
  #stream: Stream | undefined
  #stopMeasuring = (): void => {}

  /** @internal */
  constructor(tracks: readonly CapturedTrack[], options: PublisherOptions, clock: Clock = systemClock) {
    const type = typeOfVideo(options)
    super({ clock, silent: true, mirror: options.mirror ?? type === 'CAMERA', expected: () => 'nothing' }, () => {})
    this.#options = options
    this.typeOfVideo = type
    const active = { audio: options.publishAudio ?? true, video: options.publishVideo ?? true }
    this.#tracks = new LocalTracks(this.mediaStream, active, (kind) => this.#trackEnded(kind))
    for (const captured of tracks) this.#tracks.take(captured)
  }

  /** Undefined until published. */
  get stream(): Stream | undefined {
    return this.#stream
  }
  get published(): boolean {
    return this.#state === 'published'
  }
  get hasAudio(): boolean {
    return this.#tracks.get('audio') !== undefined
  }
  get hasVideo(): boolean {
    return this.#tracks.get('video') !== undefined
  }
  /** Not muted. */
  get audioActive(): boolean {
    return this.hasAudio && this.#tracks.active.audio
  }
  get videoActive(): boolean {
    return this.hasVideo && this.#tracks.active.video
  }

  /** Mutes or unmutes the sound for everybody. Muting holds here at once, whatever becomes of the message. */
  publishAudio(active: boolean): Promise<void> {
    return this.#setActive('audio', active)
  }

  /** Stops or resumes the picture for everybody. */
  publishVideo(active: boolean): Promise<void> {
    return this.#setActive('video', active)
  }

  /**
   * Sends another track in place of the one of its kind. The old one is stopped when the library opened it;
   * the new one stays the caller's. Throws NOT_FOUND when the publisher has no track of that kind.
   */
  async replaceTrack(track: MediaStreamTrack): Promise<void> {
    await this.#replace({ track, opened: false })
  }

  /**
   * Changes to another camera or microphone, by its `deviceId`; the library opens it and stops the one before.
   * Rejects with a `MediaError`; then the one before stays.
   */
  async useDevice(kind: MediaKind, deviceId: string): Promise<void> {
    const none = { audio: false, video: false, screen: false }
    const [captured] = await captureTracks({ ...this.#options, ...none, [kind]: deviceId })
    if (captured) await this.#replace(captured)
  }

  /** Ends the publication: here at once, for the others when it resolves. Stops the tracks that the library opened. */
  async unpublish(): Promise<void> {
    const [context, stream] = [this.#context, this.#stream]
    if (!context || !stream || !this.published) return this.#end()
    const { streamId, connection } = stream
    const wasLost = context.pendingStreams.has(streamId)
    const params = { streamId, connectionId: connection.connectionId, reason: 'unpublish' as const }
    context.changed({ method: 'streamDestroyed', params })
    const tell = (): Promise<unknown> => context.call('unpublish', { streamId }).catch(ignoreNotFound)
    // What is lost with its node the server does not have either.
    await (wasLost ? tell().catch(() => {}) : context.media.run(tell))
  }

  /** Ends it, published or only a preview, without waiting for anybody. */
  close(): void {
    // A session that cannot be told has ended, and the publication with it.
    this.unpublish().catch(() => {})
  }

  /** @internal Sends it. Rejects with the server's error; then it may be tried again. */
  async publish(context: SessionContext): Promise<Stream> {
    if (this.#state !== 'ready') throw new ServiceError('CONFLICT', `publish: the publisher is ${this.#state} already`)
    this.#state = 'publishing'
    this.#context = context
    const publication = new Publication({
      context,
      tracks: this.#tracks,
      typeOfVideo: this.typeOfVideo,
      simulcast: this.#options.simulcast,
      announced: (stream, as) => this.#established(context, stream, as),
    })
    this.#publication = publication
    try {
      return await publication.publish()
    } catch (error) {
      // A session that ended meanwhile has ended the publisher too.
      if (this.#state === 'publishing') this.#state = 'ready'
      throw error
    }
  }

  /** @internal The picture is of another size than before, or limited otherwise. */
  fitEncodings(): void {
    void this.#publication?.fitEncodings()
  }

  /** @internal Its media is gone with the media node; it comes back by itself, or ends. */
  mediaLost(): void {
    this.#publication?.mediaLost()
  }

  /** @internal Settles when what was lost is back, or is given up. */
  get restored(): Promise<void> {
    return this.#publication?.restored ?? Promise.resolve()
  }

  /** @internal The stream is over, whoever ended it. */
  destroyed(reason: StreamDestroyedReason): void {
    const stream = this.#stream
    if (this.#state === 'ended') return
    this.#end()
    if (stream) this.emitDestroyed({ stream, reason })
  }

  async #replace(captured: CapturedTrack): Promise<void> {
    const { track, opened } = captured
    const kind = track.kind as MediaKind
    try {
      if (!this.#tracks.get(kind)) throw new ServiceError('NOT_FOUND', `the publisher has no ${kind} track to replace`)
      if (this.#state === 'ended' || this.#state === 'publishing')
        throw new ServiceError('CONFLICT', `no track can be replaced: the publisher is ${this.#state}`)
      track.enabled = this.#tracks.active[kind]
      await this.#publication?.replace(kind, track)
      this.#requireNotEnded()
    } catch (error) {
      if (opened) track.stop()
      throw error
    }
    this.#tracks.take(captured)
    if (kind === 'video') await this.#publication?.reportVideo(measure(track), 'trackReplaced')
  }

  /** What has ended stops nothing that it takes later. */
  #requireNotEnded(): void {
    if (this.#state === 'ended')
      throw new ServiceError('CONFLICT', 'no track can be replaced: the publisher has ended meanwhile')
  }

  #established(context: SessionContext, stream: Stream, as: VideoMeasure): void {
    context.publishers.set(stream.streamId, this)
    this.#stream = stream
    this.#state = 'published'
    this.#watch(context, as)
    this.emit('streamCreated', { stream })
  }

  #watch({ clock }: SessionContext, first: VideoMeasure): void {
    const track = (): MediaStreamTrack | undefined => this.#tracks.get('video')
    this.#stopMeasuring = watchMeasure(clock, track, first, (now, before) => {
      const screen = this.typeOfVideo === 'SCREEN'
      const reason = dimensionsReason(before.videoDimensions, now.videoDimensions, screen)
      this.#publication?.reportVideo(now, reason).catch(() => {})
      this.fitEncodings()
    })
  }

  async #setActive(kind: MediaKind, active: boolean): Promise<void> {
    if (!this.#tracks.get(kind)) throw new ServiceError('NOT_FOUND', `the publisher has no ${kind} track`)
    const before = this.#tracks.active[kind]
    if (active === before) return
    this.#tracks.setActive(kind, active)
    try {
      if (this.published) await this.#publication?.sendActive(kind)
    } catch (error) {
      // What the person wanted silent stays silent, though the others were not told.
      if (active) this.#tracks.setActive(kind, before)
      throw error
    }
  }

  #trackEnded(kind: MediaKind): void {
    this.emit('trackEnded', { kind })
    // The browser's own "stop sharing" button: nothing more will come.
    if (this.typeOfVideo === 'SCREEN' && kind === 'video') this.close()
  }

  #end(): void {
    this.#state = 'ended'
    this.#stopMeasuring()
    this.#publication?.end()
    if (this.#stream) this.#context?.receiverLimits.delete(this.#stream.streamId)
    this.closePlayer()
    this.#tracks.close()
  }
}

/**
 * Opens camera and microphone (or what the options say) without sending anything, so that the person can see
 * himself first. Rejects with a `MediaError`.
 */
export async function createPublisher(options: PublisherOptions = {}): Promise<Publisher> {
  return new Publisher(await captureTracks(options), options)
}
