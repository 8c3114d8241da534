import { filterOptionsAfter, ServiceError, type AppliedFilter } from '@session-service/contract'
import { markHandled, messageOf, sleep } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import { MediaProcessor, type OperatorPipelines } from '../media-processor/media-processor.js'
import { ProcessedTrack } from '../media-processor/processed-track.js'
import type { Stream } from '../rooms/stream.js'
import { PlainRtpTap } from '../tap/plain-rtp-tap.js'
import type { PublishedTrack } from '../tracks/published-track.js'

/** Larger videos are scaled down: an encoder for 1920×1080 would need more than two cores. */
const MAX_PIXELS = 1280 * 720
const MAX_KBPS: Record<types.MediaKind, number> = { audio: 64, video: 2_000 }
/** How long a filter may take from its start to its first packet, ms. */
const FIRST_MEDIA_MS = 5_000

interface StreamFilterOptions {
  /** The path of the native program. */
  program: string
  stream: Stream
  source: PublishedTrack
  filter: AppliedFilter
  pipelines: OperatorPipelines
  /** How long it continues after it was removed, until the subscriptions have other tracks, ms. */
  lingerMs: number
  onEvent: (type: string, data: unknown) => void
  /** Its program has ended by itself after the start. */
  onFailed: (filter: StreamFilter, reason: string) => void
  onClosed: (filter: StreamFilter) => void
}

/** A filter of a track of a stream: a program that receives the published track and sends the filtered one. */
export class StreamFilter {
  /** Resolves when its track has media, or is paused; rejects with a ServiceError when it ends before. */
  readonly ready: Promise<void>
  readonly #firstMedia = Promise.withResolvers<void>()
  readonly #closed = Promise.withResolvers<never>()
  /** The options include the effects of executed methods. */
  #filter: AppliedFilter
  #processed: ProcessedTrack | undefined
  #tap: PlainRtpTap | undefined
  #processor: MediaProcessor | undefined
  #linger: NodeJS.Timeout | undefined
  #isReady = false
  #closeReason: ServiceError | undefined

  constructor(private readonly options: StreamFilterOptions) {
    this.#filter = options.filter
    markHandled(this.#closed.promise)
    this.#source.observer.once('close', this.#sourceClosed)
    this.#source.observer.on('pause', this.#pauseChanged).on('resume', this.#pauseChanged)
    this.ready = this.#start().then(
      () => void (this.#isReady = true),
      (error: unknown) => {
        const reason = this.#closeReason ?? error
        this.close()
        // The start may have opened more after `close`.
        this.#release()
        throw reason
      },
    )
    markHandled(this.ready)
  }

  /** With the options that it has now. */
  get filter(): AppliedFilter {
    return this.#filter
  }

  get filterId(): string {
    return this.options.filter.filterId
  }

  /** Whether its track is made of this one. */
  takes(source: PublishedTrack): boolean {
    return this.options.source === source
  }

  get kind(): types.MediaKind {
    return this.options.source.kind
  }

  get isClosed(): boolean {
    return this.#closeReason !== undefined
  }

  /** Undefined before it is ready. */
  get track(): PublishedTrack | undefined {
    return this.#processed?.track
  }

  /** @throws ServiceError INVALID when the program rejects it */
  async execMethod(method: string, params: Record<string, unknown>): Promise<void> {
    await this.ready
    this.#requireOpen()
    await this.#processor?.execFilterMethod(method, params)
    this.#filter = { ...this.#filter, options: filterOptionsAfter(this.#filter, method, params) }
  }

  /** Its track is not forwarded any more; subscriptions that have it still play it for a while. */
  retire(): void {
    this.#linger ??= setTimeout(() => this.close(), this.options.lingerMs)
  }

  close(reason = new ServiceError('NOT_FOUND', 'the stream has ended', { subject: 'stream' })): void {
    if (this.#closeReason) return
    this.#closeReason = reason
    clearTimeout(this.#linger)
    this.#source.observer.off('close', this.#sourceClosed)
    this.#source.observer.off('pause', this.#pauseChanged).off('resume', this.#pauseChanged)
    this.#closed.reject(reason)
    this.#release()
    this.options.onClosed(this)
  }

  get #source(): types.Producer {
    return this.options.source.producer
  }

  readonly #sourceClosed = (): void => this.close()

  readonly #pauseChanged = (): void => void this.#followPause()

  /** The track follows the pauses of the publisher. */
  async #followPause(): Promise<void> {
    const { track } = this
    const { paused } = this.#source
    // Fails only when the track is closed or its worker has died.
    if (track && track.paused !== paused) await track.setPaused(paused).catch(() => undefined)
    // No media will arrive.
    if (paused) this.#firstMedia.resolve()
  }

  async #start(): Promise<void> {
    const { stream, source } = this.options
    this.#processed = await ProcessedTrack.open(source, stream.publisher.roomRouter)
    this.#tap = await PlainRtpTap.openTracks(stream, [source], { isReceiver: false })
    this.#requireOpen()
    this.#processor = await this.#openProcessor(this.#tap, this.#processed)
    void this.#processor.exited.then(({ text }) => this.#exited(text))
    this.#requireOpen()
    await this.#followPause()
    await this.#tap.start(this.#processor.ports)
    await this.#untilMedia(this.#tap)
    await this.#followPause()
    this.#requireOpen()
  }

  async #openProcessor(tap: PlainRtpTap, processed: ProcessedTrack): Promise<MediaProcessor> {
    const { program, filter, pipelines, onEvent } = this.options
    const track = tap.track(this.kind)
    if (!track) throw new ServiceError('INTERNAL', `the tap has no ${this.kind}`)
    const { kind, codec, payloadType, clockRate, channels, ssrc, orientationId } = track
    const input = {
      kind,
      codec,
      payloadType,
      clockRate,
      ssrc,
      orientationId,
      ...(channels !== undefined && { channels }),
    }
    const output = { ...processed.output, maxKbps: this.#maxKbps, ...(kind === 'video' && { maxPixels: MAX_PIXELS }) }
    try {
      const listener = {
        onMedia: () => this.#firstMedia.resolve(),
        onSequence: () => undefined,
        onFilterEvent: onEvent,
        onKeyFrameWanted: () => void tap.requestKeyFrame().catch(() => undefined),
      }
      return await MediaProcessor.open(program, [{ input, output }], filter, listener, pipelines)
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'INVALID') throw error
      throw launchFailed(messageOf(error))
    }
  }

  /** The lowest of the limits of the publisher, of its largest layer and of the receivers that there are. */
  get #maxKbps(): number {
    const { stream } = this.options
    if (this.kind === 'audio') return MAX_KBPS.audio
    const largest = Math.max(0, ...stream.layerKbps.map((kbps) => kbps ?? 0))
    const limits = [largest, stream.publisher.maxSendKbps, stream.sendLimit]
    return Math.min(MAX_KBPS.video, ...limits.filter((kbps) => kbps > 0))
  }

  /** A publisher that sends nothing needs no filtered media. */
  async #untilMedia(tap: PlainRtpTap): Promise<void> {
    const waiting = new AbortController()
    const limit = sleep(FIRST_MEDIA_MS, waiting.signal).then(() => !waiting.signal.aborted)
    const isLate = await Promise.race([
      this.#firstMedia.promise.then(() => false),
      this.#closed.promise,
      limit,
    ]).finally(() => waiting.abort())
    if (isLate && (await tap.packets(this.kind)) > 0) throw launchFailed('the filter sends no media')
  }

  #exited(text: string): void {
    if (this.isClosed) return
    if (this.#isReady) this.options.onFailed(this, text)
    this.close(launchFailed(text))
  }

  #requireOpen(): void {
    if (this.#closeReason) throw this.#closeReason
  }

  #release(): void {
    // The child ends with its input; nothing waits for it.
    void this.#processor?.stop()
    this.#tap?.close()
    this.#processed?.close()
  }
}

const launchFailed = (text: string): ServiceError => new ServiceError('LAUNCH_FAILED', `the filter failed: ${text}`)
