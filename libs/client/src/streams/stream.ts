import type { MediaOptions, StreamInfo, TypeOfVideo } from '@session-service/contract'
import { type VideoDimensions, parseDimensions } from '../media/dimensions.js'
import type { Connection } from './connection.js'

export type StreamProperty = 'audioActive' | 'videoActive' | 'videoDimensions' | 'frameRate'
/** A property's value as an application sees it. */
export type PropertyValue = boolean | number | VideoDimensions | null
/** …and as the wire gives it. */
type WireValue = boolean | string | number | null

/** What a participant publishes: one audio track, one video track, or both. Kept current by the session. */
export class Stream {
  readonly streamId: string
  /** Who publishes it. */
  readonly connection: Connection
  /** UTC ms. */
  readonly createdAt: number
  #options: MediaOptions

  /** @internal */
  constructor(info: StreamInfo, connection: Connection) {
    this.streamId = info.streamId
    this.connection = connection
    this.createdAt = info.createdAt
    this.#options = info.mediaOptions
  }

  get hasAudio(): boolean {
    return this.#options.hasAudio
  }
  get hasVideo(): boolean {
    return this.#options.hasVideo
  }
  /** False while its publisher has muted it, and without an audio track. */
  get audioActive(): boolean {
    return this.hasAudio && this.#options.audioActive !== false
  }
  get videoActive(): boolean {
    return this.hasVideo && this.#options.videoActive !== false
  }
  /** Undefined without a video track. */
  get typeOfVideo(): TypeOfVideo | undefined {
    return this.#options.typeOfVideo
  }
  /** Frames a second as its publisher measured them; null when not known. */
  get frameRate(): number | null {
    return this.#options.frameRate ?? null
  }
  /** Null when not known and without a video track. */
  get videoDimensions(): VideoDimensions | null {
    return parseDimensions(this.#options.videoDimensions)
  }

  /** @internal Sets a property as the wire gives it and answers with the value before and after, as an application sees it. */
  change(property: StreamProperty, value: WireValue): { oldValue: PropertyValue; newValue: PropertyValue } {
    const oldValue = this[property]
    this.#options = { ...this.#options, [property]: value }
    return { oldValue, newValue: this[property] }
  }

  /** @internal Whether `value` is what the property already has. */
  has(property: StreamProperty, value: WireValue): boolean {
    return (this.#options[property] ?? null) === value
  }

  /** @internal */
  info(): StreamInfo {
    const { streamId, createdAt } = this
    return { streamId, createdAt, connectionId: this.connection.connectionId, mediaOptions: this.#options }
  }
}
