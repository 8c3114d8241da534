import { MediaProcessor, type ProcessorFailure } from '../media-processor/media-processor.js'
import type { ProcessedTrack } from '../media-processor/processed-track.js'
import { PlainRtpTap } from '../tap/plain-rtp-tap.js'
import { fittingLayer } from '../tracks/bandwidth.js'
import { encodingLimits } from './encoding-limits.js'
import type { TranscodedTrackOptions } from './transcoded-track.js'

/** One run of the program that transcodes a video. */
export class TranscodingRun {
  /** Resolves with the reason of its end; never rejects. */
  readonly ended: Promise<ProcessorFailure>
  #tap: PlainRtpTap | undefined
  #processor: MediaProcessor | undefined
  #isStopped = false

  /** @param onReady called when the program can send; it sends nothing before the returned promise has settled */
  constructor(
    private readonly options: Pick<TranscodedTrackOptions, 'program' | 'wanted'>,
    private readonly processed: ProcessedTrack,
    private readonly onReady: () => Promise<void>,
  ) {
    this.ended = this.#run()
      .catch((error: unknown): ProcessorFailure => ({ cause: 'failed', text: (error as Error).message }))
      .finally(() => this.stop())
  }

  stop(): void {
    this.#isStopped = true
    this.#tap?.close()
    void this.#processor?.stop()
  }

  async #run(): Promise<ProcessorFailure> {
    const tap = await this.#open()
    const track = tap.track('video')
    if (!track) throw new Error('the tap has no video')
    const { codec, payloadType, clockRate, ssrc, orientationId } = track
    const input = { kind: 'video', codec, payloadType, clockRate, ssrc, orientationId } as const
    const output = { ...this.processed.output, ...this.#limits }
    this.processed.sent(output.firstSequence)
    const processor = await MediaProcessor.open(this.options.program, [{ input, output }], undefined, {
      onMedia: () => undefined,
      onSequence: (_, sequence) => this.processed.sent(sequence),
      onFilterEvent: () => undefined,
      onKeyFrameWanted: () => void tap.requestKeyFrame().catch(() => undefined),
    })
    this.#processor = processor
    if (this.#isStopped) void processor.stop()
    await this.onReady()
    if (!this.#isStopped) await tap.start(processor.ports)
    return processor.exited
  }

  async #open(): Promise<PlainRtpTap> {
    const { stream, video } = this.options.wanted
    const tap = await PlainRtpTap.openTracks(stream, [video])
    this.#tap = tap
    if (this.#isStopped) tap.close()
    const layer = fittingLayer(stream.layerKbps, this.#limits.maxKbps)
    if (layer !== undefined) await tap.preferLayer(layer)
    return tap
  }

  get #limits(): ReturnType<typeof encodingLimits> {
    const { quality, maxKbps } = this.options.wanted
    return encodingLimits(quality, maxKbps)
  }
}
