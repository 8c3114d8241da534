import { type MediaKind, ServiceError, type StreamDestroyedReason, type TypeOfVideo } from '@session-service/contract'
import { type Clock, systemClock } from '../platform/clock.js'
import type { SessionContext } from './context.js'
import type { PublisherEvents } from './events.js'
import type { FilterOptions } from './filter.js'
import { type CaptureOptions, type CapturedTrack, MediaError, captureTracks, isInUse } from '../media/capture.js'
import { LocalTracks } from '../media/local-tracks.js'
import { type VideoMeasure, measure, watchMeasure } from '../media/measure.js'
import { type OwnTypeOfVideo, Publication } from './publication.js'
import { dimensionsReason } from '../media/dimensions.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import { StreamManager } from './stream-manager.js'
import type { Stream } from './stream.js'

export interface PublisherOptions extends CaptureOptions {
  /** False: starts muted. Default true. */
  publishAudio?: boolean
  /** False: starts with video off. Default true. */
  publishVideo?: boolean
  /** Sends a camera in up to three sizes. Default: the server's configuration; never for a screen. */
  simulcast?: boolean
  /** Default: SCREEN with `screen`, CUSTOM with an own video track, else CAMERA. */
  typeOfVideo?: Exclude<TypeOfVideo, 'IPCAM'>
  /** A filter that the media server applies from the start; see `stream.applyFilter`. */
  filter?: FilterOptions
  /** Mirrors the own video in its elements. Default: true for cameras. */
  mirror?: boolean
}

function typeOfVideo(options: PublisherOptions): OwnTypeOfVideo {
  if (options.typeOfVideo) return options.typeOfVideo
  if (options.screen) return 'SCREEN'
  return typeof options.video === 'object' ? 'CUSTOM' : 'CAMERA'
}

/** Publishes an own stream. Created by `createPublisher` (for a preview) or by `session.publish`. */
export class Publisher extends StreamManager<PublisherEvents> {
  readonly typeOfVideo: OwnTypeOfVideo
  readonly #tracks: LocalTracks
  readonly #options: PublisherOptions
  #state: 'ready' | 'publishing' | 'published' | 'ended' = 'ready'
  #context: SessionContext | undefined
  #publication: Publication | undefined
  #stream: Stream | undefined
  #stopMeasuring = (): void => {}
  /** The last switch of each kind, which the next one waits for. */
  readonly #switched: Record<MediaKind, Promise<unknown>> = { audio: Promise.resolve(), video: Promise.resolve() }

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

  /** Undefined before publishing. */
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

  /** Mutes or unmutes the audio for all participants. Muting takes effect locally at once, even if the request fails. */
  publishAudio(active: boolean): Promise<void> {
    return this.#setActive('audio', active)
  }

  /** Pauses or resumes the video for all participants. */
  publishVideo(active: boolean): Promise<void> {
    return this.#setActive('video', active)
  }

  /**
   * Replaces the track of the same kind. Stops the old track when the library opened it; the caller stops the new one.
   * Rejects with NOT_FOUND when the publisher has no track of that kind, and with INVALID when the new track has ended.
   */
  async replaceTrack(track: MediaStreamTrack): Promise<void> {
    if (track.readyState === 'ended') throw new ServiceError('INVALID', 'replaceTrack: the track has ended')
    // The library may have opened it, and stays the one that stops it.
    if (this.#tracks.get(track.kind as MediaKind) === track) return
    const report = await this.#replace({ track, opened: false })
    await report()
  }

  /**
   * Switches to the camera or microphone with this `deviceId`: opens it and stops the previous device, or stops it first
   * where the browser can open only one. Rejects with a `MediaError`; the previous device then stays in use, or
   * `trackEnded` is emitted when it cannot be opened again. Of several selections the last one stays.
   */
  async useDevice(kind: MediaKind, deviceId: string): Promise<void> {
    const switched = this.#switched[kind].then(() => this.#switchTo(kind, deviceId))
    this.#switched[kind] = switched.catch(() => {})
    const report = await switched
    await report()
  }

  /** Ends the publication locally at once, and for the others when it resolves. Stops tracks that the library opened. */
  async unpublish(): Promise<void> {
    const [context, stream] = [this.#context, this.#stream]
    if (!context || !stream || !this.published) return this.#end()
    const { streamId, connection } = stream
    const wasLost = context.pendingStreams.has(streamId)
    const params = { streamId, connectionId: connection.connectionId, reason: 'unpublish' as const }
    context.changed({ method: 'streamDestroyed', params })
    const request = (): Promise<unknown> => context.call('unpublish', { streamId }).catch(ignoreNotFound)
    // The server lost a pending stream with its media node too, so a failure does not matter.
    await (wasLost ? request().catch(() => {}) : context.media.run(request))
  }

  /** Ends the publication or preview without waiting for the server. */
  close(): void {
    // The request fails only when the session has ended, which also ended the publication.
    this.unpublish().catch(() => {})
  }

  /** @internal Publishes. Rejects with the server's error; the caller may then try again. */
  async publish(context: SessionContext): Promise<Stream> {
    // During a switch the former camera may have ended before the next one is open.
    await Promise.all(Object.values(this.#switched))
    if (this.#state !== 'ready') throw new ServiceError('CONFLICT', `publish: the publisher is already ${this.#state}`)
    this.#state = 'publishing'
    this.#context = context
    const publication = new Publication({
      context,
      tracks: this.#tracks,
      typeOfVideo: this.typeOfVideo,
      simulcast: this.#options.simulcast,
      filter: this.#options.filter,
      announced: (stream, measured) => this.#established(context, stream, measured),
    })
    this.#publication = publication
    try {
      return await publication.publish()
    } catch (error) {
      // A session that ended meanwhile has also ended the publisher.
      if (this.#state === 'publishing') this.#state = 'ready'
      throw error
    }
  }

  /** @internal Adapts the encodings after a change of the video size or of a limit. */
  fitEncodings(): void {
    void this.#publication?.fitEncodings()
  }

  /** @internal The media was lost with the media node: publishes again, or ends. */
  mediaLost(): void {
    this.#publication?.mediaLost()
  }

  /** @internal Settles when the lost media is restored, or the publication has ended. */
  get restored(): Promise<void> {
    return this.#publication?.restored ?? Promise.resolve()
  }

  /** @internal The stream has ended. */
  destroyed(reason: StreamDestroyedReason): void {
    const stream = this.#stream
    if (this.#state === 'ended') return
    this.#end()
    if (stream) this.emitDestroyed({ stream, reason })
  }

  async #capture(kind: MediaKind, device: string | true): Promise<CapturedTrack> {
    const none = { audio: false, video: false, screen: false }
    const [captured] = await captureTracks({ ...this.#options, ...none, [kind]: device })
    if (captured) return captured
    throw new MediaError('CAPTURE_FAILED', 'the browser opened no device')
  }

  /** Many phones can read one camera at a time: the former one is then stopped first, and opened again after a failure. */
  async #switchTo(kind: MediaKind, deviceId: string): Promise<() => Promise<void>> {
    try {
      return await this.#replace(await this.#capture(kind, deviceId))
    } catch (error) {
      // While it is published, its track cannot be replaced.
      const canStop = isInUse(error) && !this.#options.screen && this.#state !== 'publishing'
      const former = canStop ? this.#tracks.stopOpened(kind) : undefined
      if (!former) throw error
      try {
        return await this.#replace(await this.#capture(kind, deviceId))
      } catch (secondError) {
        if (this.#state !== 'ended') await this.#reopen(kind, former)
        throw secondError
      }
    }
  }

  async #reopen(kind: MediaKind, device: string | true): Promise<void> {
    try {
      const report = await this.#replace(await this.#capture(kind, device))
      report().catch(() => {})
    } catch {
      if (this.#tracks.get(kind)?.readyState === 'ended') this.#trackEnded(kind)
    }
  }

  /** Sends the track instead of the former one. Returns the function that reports it to the server. */
  async #replace(captured: CapturedTrack): Promise<() => Promise<void>> {
    const { track, opened } = captured
    const kind = track.kind as MediaKind
    try {
      if (!this.#tracks.get(kind)) throw new ServiceError('NOT_FOUND', `the publisher has no ${kind} track to replace`)
      if (this.#state === 'ended' || this.#state === 'publishing')
        throw new ServiceError('CONFLICT', `replacing the track failed: the publisher is ${this.#state}`)
      track.enabled = this.#tracks.active[kind]
      await this.#publication?.replace(kind, track)
      this.#requireNotEnded()
    } catch (error) {
      if (opened) track.stop()
      throw error
    }
    const hadEnded = this.#tracks.get(kind)?.readyState === 'ended'
    this.#tracks.take(captured)
    return () => this.#reportReplaced(track, hadEnded)
  }

  async #reportReplaced(track: MediaStreamTrack, hadEnded: boolean): Promise<void> {
    const kind = track.kind as MediaKind
    if (hadEnded && this.#tracks.sends(kind)) await this.#publication?.sendActive(kind)
    if (kind === 'audio') return
    await this.#publication?.fitEncodings()
    await this.#publication?.reportVideo(measure(track), 'trackReplaced')
  }

  /** An ended publisher would never stop a new track. */
  #requireNotEnded(): void {
    if (this.#state === 'ended')
      throw new ServiceError('CONFLICT', 'replacing the track failed: the publisher has ended')
  }

  #established(context: SessionContext, stream: Stream, measured: VideoMeasure): void {
    context.publishers.set(stream.streamId, this)
    this.#stream = stream
    this.#state = 'published'
    this.#watch(context, measured)
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
    if (active === before && (!this.published || this.#publication?.isReported(kind))) return
    this.#tracks.setActive(kind, active)
    try {
      if (this.published) await this.#publication?.sendActive(kind)
    } catch (error) {
      // Muting stays in effect locally although the request failed.
      if (active && !before) this.#tracks.setActive(kind, false)
      throw error
    }
  }

  #trackEnded(kind: MediaKind): void {
    this.emit('trackEnded', { kind })
    // The user clicked the browser's "stop sharing" button.
    if (this.typeOfVideo === 'SCREEN' && kind === 'video') return this.close()
    // The others would see the last picture until the publisher has another device.
    if (this.published && this.#tracks.active[kind]) this.#publication?.sendActive(kind).catch(() => {})
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
 * Opens camera and microphone, or the sources of the options, without publishing them: for a preview. Rejects with a
 * `MediaError`.
 */
export async function createPublisher(options: PublisherOptions = {}): Promise<Publisher> {
  return new Publisher(await captureTracks(options), options)
}
