import {
  type FilterView,
  type MediaKind,
  ServiceError,
  type SignallingParams,
  type SignallingResult,
  type StreamChangeReason,
  type TypeOfVideo,
} from '@session-service/contract'
import type { types } from 'mediasoup-client'
import type { SessionContext } from './context.js'
import { liveOrBlank } from '../media/blank-track.js'
import { type Video, fittedEncodings, videoEncodings } from '../media/encodings.js'
import type { Engine, Offer, TrackToSend } from '../media/engine.js'
import type { LocalTracks } from '../media/local-tracks.js'
import { type VideoMeasure, measure } from '../media/measure.js'
import { changeEncodings } from '../media/sender-encodings.js'
import { isTransient, retryDelay } from '../signalling/retry.js'
import { ignoreNotFound } from '../signalling/service-error.js'
import type { FilterOptions } from './filter.js'
import type { Stream, StreamProperty } from './stream.js'

type StreamChange = Omit<SignallingParams<'changeStream'>, 'streamId' | 'layerKbps' | 'reason'>
export type OwnTypeOfVideo = Exclude<TypeOfVideo, 'IPCAM'>
/** The properties that announce a publication. */
type Description = VideoMeasure & { audioActive: boolean; videoActive: boolean; typeOfVideo: OwnTypeOfVideo }

interface PublicationOptions {
  readonly context: SessionContext
  readonly tracks: LocalTracks
  readonly typeOfVideo: OwnTypeOfVideo
  /** Undefined: the server's configuration decides. */
  readonly simulcast: boolean | undefined
  /** Applied when the server accepts the publication for the first time. */
  readonly filter: FilterOptions | undefined
  /** Called when the server accepts the publication for the first time. */
  readonly announced: (stream: Stream, measured: VideoMeasure) => void
}

const START_KBPS = 1_000
const STATE_OF = { audio: 'audioActive', video: 'videoActive' } as const
const REASON_OF = { audio: 'publishAudio', video: 'publishVideo' } as const

/** Sends and changes a publisher's tracks, and sends them again under the same stream id after a loss of the media. */
export class Publication {
  readonly #context: SessionContext
  readonly #tracks: LocalTracks
  readonly #producers = new Map<MediaKind, types.Producer>()
  #stream: Stream | undefined
  /** The engine of the last successful `publish`. */
  #engine: Engine | undefined
  #isPublishing = false
  #ended = false
  #changes: Promise<void> = Promise.resolve()
  #fitted: Promise<void> = Promise.resolve()
  #restored: Promise<void> = Promise.resolve()
  /** Whether the server knows the bit rates of the layers. */
  #areLayersReported = true
  /** The kinds whose last report failed: the server may have executed it. */
  readonly #unsure = new Set<MediaKind>()
  /** The reports that failed in a row. */
  #failures = 0
  #cancelReport: (() => void) | undefined
  readonly #options: PublicationOptions

  constructor(options: PublicationOptions) {
    this.#options = options
    this.#context = options.context
    this.#tracks = options.tracks
  }

  /** Settles when the lost media is restored, or the publication has ended. */
  get restored(): Promise<void> {
    return this.#restored
  }

  /** Publishes for the first time. Rejects with the server's error; the caller may then try again. */
  async publish(): Promise<Stream> {
    const { media } = this.#context
    this.#isPublishing = true
    try {
      return await media.run((engine) => this.#send(engine))
    } finally {
      this.#isPublishing = false
      if (this.#stream && !media.isCurrent(this.#engine)) this.mediaLost()
    }
  }

  /** The media was lost with its node: publishes again as soon as another node is available. */
  mediaLost(): void {
    this.#producers.clear()
    const stream = this.#stream
    if (!stream || this.#isPublishing || this.#ended) return
    this.#isPublishing = true
    this.#context.pendingStreams.add(stream.streamId)
    this.#restored = this.#context.media
      .restore(async (engine) => void (this.#ended || (await this.#send(engine))))
      .catch(() => this.#giveUp(stream))
      .finally(() => (this.#isPublishing = false))
  }

  /** Replaces the track of its kind. Waits for the browser alone, so that the caller can mute the new track at once. */
  async replace(kind: MediaKind, track: MediaStreamTrack): Promise<void> {
    // Without a producer, `mediaLost` sends the new track later.
    const producer = this.#producers.get(kind)
    if (!producer) return
    // A browser never settles a replacement whose connection it closes.
    const closed = new Promise<void>((resolve) => producer.observer.once('close', resolve))
    await Promise.race([producer.replaceTrack({ track }), closed])
  }

  /**
   * Adapts the encodings to the current video size and limits. Runs serially, because a sender accepts only the parameters
   * that it returned last. Never rejects: encodings that the browser refuses stay unchanged.
   */
  fitEncodings(): Promise<void> {
    this.#fitted = this.#fitted.then(() => this.#fitNow()).catch((error: unknown) => this.#reportLater(error))
    return this.#fitted
  }

  /** Reports whether the kind is sent: it is inactive while it is muted, and while its device has ended. */
  async sendActive(kind: MediaKind): Promise<void> {
    try {
      await this.#change({ [STATE_OF[kind]]: this.#tracks.sends(kind) }, REASON_OF[kind])
      this.#unsure.delete(kind)
    } catch (error) {
      this.#unsure.add(kind)
      throw error
    }
  }

  /** Whether the others know the state of the kind: they may not after a failed report. */
  isReported(kind: MediaKind): boolean {
    return !this.#unsure.has(kind) && this.#stream?.has(STATE_OF[kind], this.#tracks.sends(kind)) === true
  }

  /** Reports a changed video size or frame rate to the other participants. */
  async reportVideo({ videoDimensions, frameRate }: VideoMeasure, reason: StreamChangeReason): Promise<void> {
    const stream = this.#stream
    if (!stream || this.#ended) return
    const hasNewDimensions = videoDimensions !== null && !stream.has('videoDimensions', videoDimensions)
    const hasNewRate = frameRate !== null && !stream.has('frameRate', frameRate)
    if (!hasNewDimensions && !hasNewRate) return
    await this.#change({ ...(hasNewDimensions && { videoDimensions }), ...(hasNewRate && { frameRate }) }, reason)
  }

  end(): void {
    this.#ended = true
    this.#cancelReport?.()
    for (const producer of this.#producers.values()) producer.close()
    this.#producers.clear()
  }

  async #send(engine: Engine): Promise<Stream> {
    this.#requireNotEnded()
    let offer: Offer | undefined
    try {
      offer = await engine.offer(this.#toSend(engine))
      const description = this.#description()
      const answer = await this.#offer(offer, description)
      engine.offerAccepted(offer)
      this.#requireNotEnded(answer.streamId)
      for (const producer of offer.producers) this.#producers.set(producer.kind, producer)
      this.#engine = engine
      this.#areLayersReported = true
      this.#unsure.clear()
      const stream = this.#stream ?? this.#announce(description, answer)
      this.#filterChanged(stream, answer.filter ?? {})
      this.#context.pendingStreams.restored(stream.streamId)
      this.#sendMissedChanges(description)
      void this.fitEncodings()
      return stream
    } catch (error) {
      for (const producer of offer?.producers ?? []) producer.close()
      throw error
    }
  }

  /** Replaces the server's stream when an earlier answer was lost with its socket. The server keeps the filter. */
  async #offer({ tracks, dtlsParameters }: Offer, description: Description): Promise<SignallingResult<'publish'>> {
    const streamId = this.#stream?.streamId
    const { filter } = this.#options
    const own = streamId ? { streamId } : filter && { filter }
    const more = { ...own, ...(dtlsParameters && { dtlsParameters }) }
    const call = { ...description, tracks, ...more }
    try {
      return await this.#context.call('publish', call)
    } catch (error) {
      if (!streamId || !(error instanceof ServiceError) || error.code !== 'CONFLICT') throw error
      await this.#context.call('unpublish', { streamId, keepFilter: true }).catch(ignoreNotFound)
      return this.#context.call('publish', call)
    }
  }

  /** Unpublishes the stream when the publisher ended while the request was pending. */
  #requireNotEnded(streamId?: string): void {
    if (!this.#ended) return
    if (streamId) this.#context.call('unpublish', { streamId }).catch(() => {})
    throw new ServiceError('CONFLICT', 'publish: the publisher ended before the answer')
  }

  #toSend(engine: Engine): TrackToSend[] {
    const [audio, track] = [this.#tracks.get('audio'), this.#tracks.get('video')]
    // A device may have been unplugged; a blank track keeps its place for the next device.
    return [...(audio ? [{ track: liveOrBlank(audio) }] : []), ...(track ? [this.#videoToSend(track, engine)] : [])]
  }

  #videoToSend(track: MediaStreamTrack, engine: Engine): TrackToSend {
    const { simulcast, maxSendKbps, minSendKbps } = this.#context
    const wanted = this.#options.simulcast ?? (simulcast && this.#options.typeOfVideo === 'CAMERA')
    return {
      track: liveOrBlank(track),
      encodings: videoEncodings({ ...this.#video(track), simulcast: wanted && engine.canSimulcast }),
      startKbps: Math.min(START_KBPS, maxSendKbps || START_KBPS),
      minKbps: Math.min(minSendKbps, maxSendKbps || minSendKbps),
    }
  }

  #video(track: MediaStreamTrack): Video {
    const { maxSendKbps, receiverLimits } = this.#context
    const { width = 0, height = 0, frameRate = 0 } = track.getSettings()
    const receiverMaxKbps = receiverLimits.get(this.#stream?.streamId ?? '') ?? 0
    return { width, height, frameRate, typeOfVideo: this.#options.typeOfVideo, maxSendKbps, receiverMaxKbps }
  }

  async #fitNow(): Promise<void> {
    const { track, rtpSender: sender } = this.#producers.get('video') ?? {}
    const { streamId } = this.#stream ?? {}
    if (!track || !sender || !streamId) return
    const count = sender.getParameters().encodings.length
    const encodings = fittedEncodings(this.#video(track), count)
    const areChanged = await changeEncodings(sender, encodings)
    if (count === 1 || (!areChanged && this.#areLayersReported)) return
    const layerKbps = encodings.map(({ maxBitrate = 0 }) => Math.round(maxBitrate / 1_000))
    this.#areLayersReported = false
    await this.#context.call('changeStream', { streamId, layerKbps, reason: 'trackReplaced' })
    this.#areLayersReported = true
  }

  #description(): Description {
    const [audioActive, videoActive] = [this.#tracks.sends('audio'), this.#tracks.sends('video')]
    const { typeOfVideo } = this.#options
    const { videoDimensions, frameRate } = measure(this.#tracks.get('video'))
    const before = this.#stream?.info().mediaOptions
    return {
      audioActive,
      videoActive,
      typeOfVideo,
      videoDimensions: videoDimensions ?? before?.videoDimensions ?? null,
      frameRate: frameRate ?? before?.frameRate ?? null,
    }
  }

  /** The filter may have changed while the media was lost. */
  #filterChanged({ streamId, connection: { connectionId }, filter }: Stream, newValue: FilterView): void {
    const isSame = filter?.type === newValue.type
    const reason = newValue.type === undefined ? 'removeFilter' : isSame ? 'execFilterMethod' : 'applyFilter'
    const params = { streamId, connectionId, changedProperty: 'filter', newValue, reason } as const
    this.#context.changed({ method: 'streamPropertyChanged', params })
  }

  #announce(description: Description, { streamId, createdAt, filter = {} }: SignallingResult<'publish'>): Stream {
    const { ownConnectionId: connectionId } = this.#context
    const [hasAudio, hasVideo] = [this.#tracks.get('audio'), this.#tracks.get('video')].map(Boolean)
    const mediaOptions = { hasAudio: hasAudio === true, hasVideo: hasVideo === true, ...description, filter }
    const params = { streamId, createdAt, connectionId, mediaOptions }
    this.#context.changed({ method: 'streamCreated', params })
    const stream = this.#context.stream(streamId)
    if (!stream) throw new ServiceError('CONFLICT', 'publish: the session ended before the answer')
    this.#stream = stream
    this.#options.announced(stream, description)
    const reason = this.#context.pendingPublications.endOf(streamId)
    if (reason) this.#context.changed({ method: 'streamDestroyed', params: { streamId, connectionId, reason } })
    return stream
  }

  /** Sends the changes of tracks, of their muting and of their devices that happened while the request was pending. */
  #sendMissedChanges(description: Description): void {
    for (const kind of this.#tracks.kinds) {
      if (description[STATE_OF[kind]] !== this.#tracks.sends(kind)) this.sendActive(kind).catch(() => {})
      const [producer, track] = [this.#producers.get(kind), this.#tracks.get(kind)]
      if (producer && track?.readyState === 'live' && producer.track !== track)
        this.replace(kind, track).then(
          () => this.fitEncodings(),
          () => {},
        )
    }
  }

  #giveUp({ streamId, connection }: Stream): void {
    if (this.#ended) return
    const params = { streamId, connectionId: connection.connectionId, reason: 'nodeCrashed' as const }
    this.#context.changed({ method: 'streamDestroyed', params })
  }

  /** Runs serially, so that the last change is also the last that the server receives. */
  #change(values: StreamChange, reason: StreamChangeReason): Promise<void> {
    const change = this.#changes.then(() => this.#sendChange(values, reason))
    this.#changes = change.catch((error: unknown) => this.#reportLater(error))
    return change
  }

  /** After an outage the others and the media node would otherwise keep a former state. */
  #reportLater(error: unknown): void {
    if (this.#ended || this.#cancelReport || !isTransient(error)) return
    const { clock } = this.#context
    this.#cancelReport = clock.after(retryDelay(++this.#failures, clock.random()), () => {
      this.#cancelReport = undefined
      this.#report()
    })
  }

  /** Reports what the server does not know. */
  #report(): void {
    const missed = this.#tracks.kinds.filter((kind) => !this.isReported(kind))
    for (const kind of missed) this.sendActive(kind).catch(() => {})
    this.reportVideo(measure(this.#tracks.get('video')), 'trackReplaced').catch(() => {})
    void this.fitEncodings()
  }

  async #sendChange(values: StreamChange, reason: StreamChangeReason): Promise<void> {
    const stream = this.#stream
    if (!stream) return
    const { streamId, connection } = stream
    await this.#context.media.run(async () => {
      await this.#restored
      if (!this.#ended) await this.#context.call('changeStream', { streamId, ...values, reason })
    })
    this.#failures = 0
    for (const [property, newValue] of Object.entries(values)) {
      const changedProperty = property as StreamProperty
      const params = { streamId, connectionId: connection.connectionId, changedProperty, newValue, reason }
      this.#context.changed({ method: 'streamPropertyChanged', params })
    }
  }
}
