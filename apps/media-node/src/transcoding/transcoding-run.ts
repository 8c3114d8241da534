import { messageOf } from '@session-service/server-kit'
import { MediaProcessor, type ProcessorFailure, type VideoLimits } from '../media-processor/media-processor.js'
import type { ProcessedTrack } from '../media-processor/processed-track.js'
import { PlainRtpTap } from '../tap/plain-rtp-tap.js'
import { fittingLayer } from '../tracks/bandwidth.js'
import type { TranscodedTrackOptions } from './transcoded-track.js'

/** One run of the program that transcodes a video. */
export class TranscodingRun {
  /** Resolves with the reason of its end; never rejects. */
  readonly ended: Promise<ProcessorFailure>
  #tap: PlainRtpTap | undefined
  #processor: MediaProcessor | undefined
  #isStopped = false
  /** Those that the program has. */
  #limits: VideoLimits | undefined
  /** The layer that it receives; a tap has the last one at first. */
  #layer: number

  /** @param onReady called when the program can send; it sends nothing before the returned promise has settled */
  constructor(
    private readonly options: Pick<TranscodedTrackOptions, 'program' | 'wanted' | 'limits'>,
    private readonly processed: ProcessedTrack,
    private readonly onReady: () => Promise<void>,
  ) {
    this.#layer = options.wanted.stream.layerKbps.length - 1
    this.ended = this.#run()
      .catch((error: unknown): ProcessorFailure => ({ cause: 'failed', text: messageOf(error) }))
      .finally(() => this.stop())
  }

  /** Changes the bitrate and the size that the program encodes. */
  limitsChanged(): void {
    if (!this.#processor || !this.#tap || this.#isStopped) return
    const [former, limits] = [this.#limits, this.options.limits()]
    // Fails only when the track has ended, or its worker has.
    this.#fitLayer(this.#tap, limits).catch(() => undefined)
    if (former?.maxKbps === limits.maxKbps && former.maxPixels === limits.maxPixels) return
    this.#limits = limits
    this.#processor.limitVideo(limits)
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
    this.#limits = this.options.limits()
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
    if (this.#isStopped) return processor.exited
    this.limitsChanged()
    await tap.start(processor.ports)
    return processor.exited
  }

  async #open(): Promise<PlainRtpTap> {
    const { stream, video } = this.options.wanted
    const tap = await PlainRtpTap.openTracks(stream, [video])
    this.#tap = tap
    if (this.#isStopped) tap.close()
    await this.#fitLayer(tap, this.options.limits())
    return tap
  }

  /** The program needs no larger layer than it encodes. */
  async #fitLayer(tap: PlainRtpTap, { maxKbps }: VideoLimits): Promise<void> {
    const { layerKbps } = this.options.wanted.stream
    const layer = fittingLayer(layerKbps, maxKbps) ?? layerKbps.length - 1
    if (layer === this.#layer) return
    this.#layer = layer
    await tap.preferLayer(layer)
  }
}
