import {
  type FilterView,
  type MediaOptions,
  ServiceError,
  type StreamInfo,
  type TypeOfVideo,
} from '@session-service/contract'
import { type VideoDimensions, parseDimensions } from '../media/dimensions.js'
import { isSameValue } from '../platform/same-value.js'
import type { Connection } from './connection.js'
import { Filter, type FilterControl, type FilterState, filterState } from './filter.js'

export type StreamProperty = 'audioActive' | 'videoActive' | 'videoDimensions' | 'frameRate' | 'filter'
/** The value of a property in the public interface. */
export type PropertyValue = boolean | number | VideoDimensions | FilterState | null
/** The value of a property in the protocol. */
type WireValue = boolean | string | number | FilterView | null

/** A stream that a participant publishes: an audio track, a video track, or both. The session updates it. */
export class Stream {
  readonly streamId: string
  /** The publishing participant. */
  readonly connection: Connection
  /** UTC ms. */
  readonly createdAt: number
  #options: MediaOptions
  #filter: Filter | undefined
  readonly #filterControl: FilterControl | undefined

  /** @internal */
  constructor(info: StreamInfo, connection: Connection, filterControl?: FilterControl) {
    this.#filterControl = filterControl
    this.streamId = info.streamId
    this.connection = connection
    this.createdAt = info.createdAt
    this.#options = info.mediaOptions
    this.#setFilter(false)
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

  /** Undefined without a filter. A filter that is removed and applied again is another object. */
  get filter(): Filter | undefined {
    return this.#filter
  }

  /**
   * Applies a filter at the media server, for all receivers of the stream and for recordings; resolves when it works, after
   * at most 10 s. A PUBLISHER may apply the types in `session.allowedFilters` to own streams, a MODERATOR to all streams.
   * Rejects with a `ServiceError`: NOT_ALLOWED, INVALID (names the wrong option), CONFLICT (the stream has a filter),
   * DISABLED (the service does not offer filters), NO_CAPACITY, LAUNCH_FAILED.
   */
  async applyFilter(type: string, options: Record<string, unknown> = {}): Promise<Filter> {
    const { streamId } = this
    const { filter } = await this.#control().request('applyFilter', { streamId, type, options })
    this.#changeFilter(filter, 'applyFilter')
    if (!this.#filter) throw new ServiceError('CONFLICT', 'applyFilter: the filter has ended already')
    return this.#filter
  }

  /** Rejects with NOT_FOUND when the stream has no filter. */
  async removeFilter(): Promise<void> {
    await this.#control().request('removeFilter', { streamId: this.streamId })
    this.#changeFilter({}, 'removeFilter')
  }

  #control(): FilterControl {
    if (this.#filterControl) return this.#filterControl
    throw new ServiceError('NOT_ALLOWED', 'the session is not connected')
  }

  #changeFilter(newValue: FilterView, reason: 'applyFilter' | 'removeFilter'): void {
    const { streamId, connection } = this
    const { connectionId } = connection
    const params = { streamId, connectionId, changedProperty: 'filter', newValue, reason } as const
    this.#control().changed({ method: 'streamPropertyChanged', params })
  }

  /** `isNew`: the filter was applied, although the former one may have had the same type. */
  #setFilter(isNew: boolean): void {
    const state = filterState(this.#options.filter)
    const control = this.#filterControl
    if (!state || !control) this.#filter = undefined
    else if (!isNew && this.#filter?.type === state.type) this.#filter.update(state)
    else
      this.#filter = new Filter({ streamId: this.streamId, connectionId: this.connection.connectionId }, state, control)
  }

  /** @internal Sets a property from the protocol and returns its old and new value of the public interface. */
  change(
    property: StreamProperty,
    value: WireValue,
    reason?: string,
  ): { oldValue: PropertyValue; newValue: PropertyValue } {
    const oldValue = this.#value(property)
    this.#options = { ...this.#options, [property]: value }
    if (property === 'filter') this.#setFilter(reason === 'applyFilter')
    return { oldValue, newValue: this.#value(property) }
  }

  #value(property: StreamProperty): PropertyValue {
    return property === 'filter' ? filterState(this.#options.filter) : this[property]
  }

  /** @internal Whether the property already has this value. */
  has(property: StreamProperty, value: WireValue): boolean {
    return isSameValue(this.#options[property] ?? null, value)
  }

  /** @internal */
  info(): StreamInfo {
    const { streamId, createdAt } = this
    return { streamId, createdAt, connectionId: this.connection.connectionId, mediaOptions: this.#options }
  }
}
