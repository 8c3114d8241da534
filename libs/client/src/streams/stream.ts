import type { MediaOptions, StreamInfo, TypeOfVideo } from '@session-service/contract'
import { type VideoDimensions, parseDimensions } from '../media/dimensions.js'
import type { Connection } from './connection.js'

export type StreamProperty = 'audioActive' | 'videoActive' | 'videoDimensions' | 'frameRate'
/** The value of a property in the public interface. */
export type PropertyValue = boolean | number | VideoDimensions | null
/** The value of a property in the protocol. */
type WireValue = boolean | string | number | null

/** A stream that a participant publishes: an audio track, a video track, or both. The session updates it. */
export class Stream {
  readonly streamId: string
  /** The publishing participant. */
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
  /** False while the publisher has muted it, and without an audio track. */
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
  /** Frames per second that the publisher measured; null when unknown. */
  get frameRate(): number | null {
    return this.#options.frameRate ?? null
  }
  /** Null when unknown, and without a video track. */
  get videoDimensions(): VideoDimensions | null {
    return parseDimensions(this.#options.videoDimensions)
  }

  /** @internal Sets a property from the protocol and returns its old and new value of the public interface. */
  change(property: StreamProperty, value: WireValue): { oldValue: PropertyValue; newValue: PropertyValue } {
    const oldValue = this[property]
    this.#options = { ...this.#options, [property]: value }
    return { oldValue, newValue: this[property] }
  }

  /** @internal Whether the property already has this value. */
  has(property: StreamProperty, value: WireValue): boolean {
    return (this.#options[property] ?? null) === value
  }

  /** @internal */
  info(): StreamInfo {
    const { streamId, createdAt } = this
    return { streamId, createdAt, connectionId: this.connection.connectionId, mediaOptions: this.#options }
  }
}
