import type { types } from 'mediasoup'
import { Feed } from '../../tap/plain-rtp-tap.js'
import type { Stream } from '../../rooms/stream.js'
import type { Compositor, CompositorEvent } from './compositor.js'
import type { Box, Size } from './layout.js'
import { layerFor } from './quality.js'

type Listening = Extract<CompositorEvent, { event: 'listening' }>

const CODECS = new Set(['VP8', 'VP9', 'H264'])

/** A published stream in a composition. */
export class Member {
  readonly isScreen: boolean
  readonly #listening = Promise.withResolvers<Listening>()
  #feed: Feed | undefined
  #isAdded = false
  #opening = false
  #gone = false
  /** Whether there is a picture that is not older than the last mute. */
  #pictureThere = false
  #mutedAfterPicture = false
  #layer: number | undefined
  #largest: Size | undefined

  /** `id` is the compositor's, and never used again. */
  constructor(
    readonly id: string,
    readonly name: string,
    readonly stream: Stream,
    readonly kinds: readonly types.MediaKind[],
    private readonly compositor: Compositor,
  ) {
    this.isScreen = stream.typeOfVideo === 'SCREEN'
    this.#listening.promise.catch(() => undefined)
  }

  get isAdded(): boolean {
    return this.#isAdded
  }

  get showsPicture(): boolean {
    return this.#pictureThere && this.#wantsPicture
  }

  /** Has the compositor listen and the stream sent to it. */
  async open(): Promise<void> {
    if (this.#feed || this.#opening || this.#gone) return
    this.#opening = true
    const feed = await Feed.open(this.stream, this.kinds).catch(() => undefined)
    this.#opening = false
    // Else it is tried again: a stream that is ending is taken out in a moment.
    if (!feed) return
    if (this.#gone) return feed.close()
    this.#feed = feed
    this.#add(feed)
    // However late: a compositor that never answers ends, and all with it.
    const listening = await this.#listening.promise.catch(() => undefined)
    if (!listening || this.#gone) return
    const { audio, video } = listening
    const ports = { ...(audio.rtp && { audio }), ...(video.rtp && { video }) }
    await feed.start(ports).catch(() => undefined)
  }

  /** Muted or unmuted; a picture from before a mute is not shown again. */
  changed(): void {
    if (this.#wantsPicture) {
      if (this.#mutedAfterPicture) this.compositor.tell('await', this.id)
      this.#mutedAfterPicture = false
    } else {
      this.#mutedAfterPicture ||= this.#pictureThere
      this.#pictureThere = false
    }
  }

  /** Whether it looks otherwise now. */
  heard(event: CompositorEvent): boolean {
    if (event.event === 'listening') this.#listening.resolve(event)
    if (event.event === 'size') this.#sized(event)
    if (event.event !== 'media' || event.kind !== 'video' || this.#pictureThere) return false
    // The last pictures of one that was muted arrive a little after.
    if (this.#wantsPicture) this.#pictureThere = true
    else this.#mutedAfterPicture = true
    return this.#pictureThere
  }

  /** Asks for what is missing. */
  async remind(): Promise<void> {
    if (!this.#feed) return this.open()
    if (this.#wantsPicture && !this.#pictureThere) await this.#feed.requestKeyFrame().catch(() => undefined)
  }

  /** Takes of a simulcast stream what its box needs. */
  fit(box: Box): void {
    const layers = this.#layers
    if (!this.#feed || !this.#largest || layers < 2) return
    const layer = layerFor(box, this.#largest, layers)
    if (layer === this.#layer) return
    this.#layer = layer
    this.#feed.preferLayer(layer).catch(() => undefined)
  }

  /** `isHeard`: the compositor has it no more. */
  close({ isHeard = false } = {}): void {
    if (this.#gone) return
    this.#gone = true
    if (this.#isAdded && !isHeard) this.compositor.tell('remove', this.id)
    this.#feed?.close()
    this.#listening.reject(new Error('gone'))
  }

  get #wantsPicture(): boolean {
    const source = this.kinds.includes('video') ? this.stream.source('video') : undefined
    return source !== undefined && !source.paused
  }

  get #layers(): number {
    return this.stream.source('video')?.producer.rtpParameters.encodings?.length ?? 1
  }

  /** The largest layer is sent at first, and the sizes of all follow from its own. */
  #sized({ width, height }: Size): void {
    if (this.#largest && this.#largest.width >= width) return
    this.#largest = { width, height }
  }

  #add(feed: Feed): void {
    const video = feed.track('video')
    const isKnown = video !== undefined && CODECS.has(video.codec.toUpperCase())
    const payload = isKnown ? video.payloadType : -1
    const codec = isKnown ? video.codec.toUpperCase() : 'VP8'
    this.compositor.tell('add', this.id, codec, payload, feed.track('audio')?.payloadType ?? -1)
    this.#isAdded = true
  }
}
