import type { types } from 'mediasoup'
import type { ProcessorFailure, VideoLimits } from '../media-processor/media-processor.js'
import { ProcessedTrack } from '../media-processor/processed-track.js'
import type { VideoToTranscode } from '../rooms/transcoder.js'
import type { PublishedTrack } from '../tracks/published-track.js'
import { retryDelay } from './retry.js'
import { TranscodingRun } from './transcoding-run.js'

/** A program that has run for this long has not failed at its start, ms. */
const STABLE_MS = 10_000

export interface TranscodedTrackOptions {
  /** The path of the native program. */
  program: string
  wanted: VideoToTranscode
  /** The present ones; `limitsChanged` follows a change. */
  limits: () => VideoLimits
  /** The program failed for the `failures`th time in a row; it is started again. */
  onFailure: (failure: ProcessorFailure, failures: number) => void
}

/**
 * A video of a stream in another codec. Its program is started again after each failure, with the same track, until it is
 * closed.
 */
export class TranscodedTrack {
  #run: TranscodingRun | undefined
  #retry: NodeJS.Timeout | undefined
  #failures = 0
  #isRunning = false
  #isClosed = false

  private constructor(
    private readonly options: TranscodedTrackOptions,
    private readonly processed: ProcessedTrack,
  ) {
    this.#source.observer.on('pause', this.#followSource).on('resume', this.#followSource)
    this.#begin()
  }

  static async open(options: TranscodedTrackOptions): Promise<TranscodedTrack> {
    const { codec, stream, video } = options.wanted
    const { roomRouter } = stream.publisher
    return new TranscodedTrack(options, await ProcessedTrack.open(video, roomRouter, { codec, paused: true }))
  }

  get track(): PublishedTrack {
    return this.processed.track
  }

  limitsChanged(): void {
    this.#run?.limitsChanged()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    clearTimeout(this.#retry)
    this.#source.observer.off('pause', this.#followSource).off('resume', this.#followSource)
    // The child ends with its input; nothing waits for it.
    this.#run?.stop()
    this.#run = undefined
    this.processed.close()
  }

  get #source(): types.Producer {
    return this.options.wanted.video.producer
  }

  #begin(): void {
    const startedAt = performance.now()
    const run = new TranscodingRun(this.options, this.processed, () => this.#setRunning(true))
    this.#run = run
    void run.ended.then((failure) => this.#ended(run, failure, performance.now() - startedAt))
  }

  #ended(run: TranscodingRun, failure: ProcessorFailure, ranMs: number): void {
    if (this.#run !== run) return
    this.#run = undefined
    if (ranMs >= STABLE_MS) this.#failures = 0
    this.#failures++
    void this.#setRunning(false)
    this.#retry = setTimeout(() => this.#begin(), retryDelay(this.#failures))
    this.options.onFailure(failure, this.#failures)
  }

  /** Subscribers start again with the first key frame of the next program, and see no gap in the sequence numbers. */
  #setRunning(isRunning: boolean): Promise<void> {
    this.#isRunning = isRunning
    return this.#updatePaused()
  }

  /** The track follows the pauses of the publisher. */
  readonly #followSource = (): void => void this.#updatePaused()

  async #updatePaused(): Promise<void> {
    const paused = this.#source.paused || !this.#isRunning
    if (this.#isClosed || paused === this.track.paused) return
    // Fails only when the track is closed or its worker has died.
    await this.track.setPaused(paused).catch(() => undefined)
  }
}
