import { markHandled } from '@session-service/server-kit'
import type { types } from 'mediasoup'
import type { Stream } from '../../rooms/stream.js'
import type { PlainRtpTap } from '../../tap/plain-rtp-tap.js'
import { StreamTap } from '../recorder/stream-tap.js'
import type { Compositor, CompositorEvent } from './compositor.js'
import type { Box, Size } from './layout.js'
import { PictureState } from './picture-state.js'
import { layerFor } from './quality.js'
import { trackWords } from './settings.js'

type Listening = Extract<CompositorEvent, { event: 'listening' }>

/** A published stream in a composed recording. */
export class ComposedStream {
  readonly isScreen: boolean
  readonly createdAt = performance.now()
  readonly #listening = Promise.withResolvers<Listening>()
  readonly #tap: StreamTap
  #isAdded = false
  #isVideoOnly = false
  /** Whether the tap sends. */
  #isStarted = false
  readonly #picture = new PictureState()
  /** Whether its picture stands still until the next key frame. */
  #isBroken = false
  #layer: number | undefined
  #largest: Size | undefined

  /** `id` identifies it at the compositor and is never reused. */
  constructor(
    readonly id: string,
    readonly name: string,
    readonly stream: Stream,
    readonly kinds: readonly types.MediaKind[],
    private readonly compositor: Compositor,
  ) {
    this.#tap = new StreamTap(stream, kinds)
    this.isScreen = stream.typeOfVideo === 'SCREEN'
    markHandled(this.#listening.promise)
  }

  get isAdded(): boolean {
    return this.#isAdded
  }

  get showsPicture(): boolean {
    return this.#picture.hasPicture && this.#tap.hasActiveVideo
  }

  /** Whether the tracks that it shows are still those that the stream forwards. */
  get isReplaced(): boolean {
    return this.#tap.isReplaced
  }

  /**
   * Adds the stream to the compositor and starts sending to it. `videoOnly`: audio waits for `startAudio`, because another
   * one of the same stream is heard.
   */
  async open({ videoOnly = this.#isVideoOnly } = {}): Promise<void> {
    this.#isVideoOnly = videoOnly
    const tap = await this.#tap.open()
    if (!tap || this.#tap.isClosed) return
    this.#add(tap)
    // Without a timeout: a compositor that never answers is killed, which ends the recording.
    const listening = await this.#listening.promise.catch(() => undefined)
    if (!listening || this.#tap.isClosed) return
    const { audio, video } = listening
    this.#isStarted = true
    const ports = { ...(audio.rtp && !this.#isVideoOnly && { audio }), ...(video.rtp && { video }) }
    await tap.start(ports).catch(() => undefined)
  }

  async startAudio(): Promise<void> {
    if (!this.#isVideoOnly) return
    this.#isVideoOnly = false
    if (!this.#isStarted) return
    const { audio } = await this.#listening.promise
    if (audio.rtp && !this.#tap.isClosed) await this.#tap.opened?.start({ audio })
  }

  /** After mute or unmute: a picture from before the mute is not shown again. */
  changed(): void {
    if (this.#picture.changed(this.#tap.hasActiveVideo)) this.compositor.send('await', this.id)
  }

  /** Returns whether its appearance has changed. */
  handle(event: CompositorEvent): boolean {
    if (event.event === 'listening') this.#listening.resolve(event)
    if (event.event === 'size') this.#noteSize(event)
    if (event.event === 'broken') this.#isBroken = true
    if (event.event !== 'media' || event.kind !== 'video') return false
    this.#isBroken = false
    return this.#picture.decoded(this.#tap.hasActiveVideo)
  }

  /** Opens the tap or requests a key frame if one is missing. */
  async retry(): Promise<void> {
    if (!this.#tap.opened) return this.open()
    const isMissing = !this.#picture.hasPicture || this.#isBroken
    if (this.#tap.hasActiveVideo && isMissing) await this.#tap.requestKeyFrame()
  }

  /** Selects the simulcast layer for the size of its box. */
  fit(box: Box): void {
    const [layers, tap] = [this.#layers, this.#tap.opened]
    if (!tap || !this.#largest || layers < 2) return
    const layer = layerFor(box, this.#largest, layers)
    if (layer === this.#layer) return
    this.#layer = layer
    tap.preferLayer(layer).catch(() => undefined)
  }

  /** `isRemoved`: the compositor has removed the stream already. */
  close({ isRemoved = false } = {}): void {
    if (this.#tap.isClosed) return
    if (this.#isAdded && !isRemoved) this.compositor.send('remove', this.id)
    this.#tap.close()
    this.#listening.reject(new Error('the stream is closed'))
  }

  get #layers(): number {
    return this.stream.track('video')?.producer.rtpParameters.encodings?.length ?? 1
  }

  /** The largest layer is sent first; the sizes of the others derive from it. */
  #noteSize({ width, height }: Size): void {
    if (this.#largest && this.#largest.width >= width) return
    this.#largest = { width, height }
  }

  #add(tap: PlainRtpTap): void {
    const { codec, video, audio } = trackWords(tap.track('video'), tap.track('audio'))
    this.compositor.send('add', this.id, codec, video, audio)
    this.#isAdded = true
  }
}
