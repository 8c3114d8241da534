import { ServiceError } from '@session-service/contract'
import type { Stream } from '../rooms/stream.js'
import type { StreamFilter } from './stream-filter.js'

/** The filter of a stream: while one replaces another there are two. */
export class FilteredStream {
  /** Its track is forwarded. */
  #current: StreamFilter | undefined
  /** It starts. */
  #next: StreamFilter | undefined

  constructor(private readonly stream: Stream) {}

  get isEmpty(): boolean {
    return !this.#current && !this.#next
  }

  /** @throws ServiceError NOT_FOUND */
  filter(filterId: string): StreamFilter {
    const filter = this.find(filterId)
    if (filter) return filter
    throw new ServiceError('NOT_FOUND', `stream ${this.stream.id} has no filter ${filterId}`, { subject: 'stream' })
  }

  find(filterId: string): StreamFilter | undefined {
    return [this.#next, this.#current].find((filter) => filter?.filterId === filterId)
  }

  /** The filter that was applied last. */
  get latest(): StreamFilter | undefined {
    return this.#next ?? this.#current
  }

  /** Forwards its track as soon as it has media; the former filter is in force until then. */
  async apply(filter: StreamFilter): Promise<void> {
    const starting = this.#next
    this.#next = filter
    starting?.close(superseded())
    await filter.ready
    const { track } = filter
    if (this.#next !== filter || filter.isClosed || !track) throw superseded()
    this.#next = undefined
    const former = this.#current
    this.#current = filter
    this.stream.replaceMedia(new Map([[filter.kind, track]]))
    former?.retire()
  }

  /** Resolves when the filter is ready: the one that continues it, each time its input is replaced while it starts. */
  async started(filter: StreamFilter, ready = filter.ready): Promise<StreamFilter> {
    try {
      await ready
      return filter
    } catch (error) {
      const continued = this.find(filter.filterId)
      if (!continued || continued === filter) throw error
      return this.started(continued)
    }
  }

  /** Forwards the published tracks again. @throws ServiceError NOT_FOUND */
  remove(filterId: string): void {
    this.filter(filterId)
    this.#next?.close(superseded())
    this.#next = undefined
    this.end()
  }

  /** Forwards the published tracks again, also when the filter in force has lost its input. */
  end(): void {
    const former = this.#current
    this.#end()
    former?.retire()
  }

  /** Forwards the published tracks again if the filter was in force; returns whether it was. */
  failed(filter: StreamFilter): boolean {
    if (this.#current !== filter) return false
    this.#end()
    return true
  }

  closed(filter: StreamFilter): void {
    if (this.#next === filter) this.#next = undefined
    if (this.#current === filter) this.#current = undefined
  }

  #end(): void {
    this.#current = undefined
    this.stream.replaceMedia(new Map())
  }
}

const superseded = (): ServiceError => new ServiceError('CONFLICT', 'the filter was removed or replaced by another one')
